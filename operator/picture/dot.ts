import type { Graph, GraphNode } from "./graph.ts";
import { COLOURS, edgeText, nodeLines } from "./labels.ts";

/** The picture in the language of Graphviz: `… | dot -Tsvg`. */
export function renderDot({ nodes, edges }: Graph): string {
  const names = new Map(nodes.map((node, index) => [node, `n${index + 1}`]));
  const name = (node: GraphNode) => names.get(node)!;
  return [
    "digraph mesh {",
    "  rankdir=LR;",
    '  node [shape=box, style="rounded,filled", fontname="sans-serif"];',
    '  edge [fontname="sans-serif", fontsize=10];',
    ...nodes.map((node) => {
      const { fill, line } = COLOURS[node.state];
      const label = nodeLines(node).map(escaped).join("\\n");
      return `  ${name(node)} [label="${label}", fillcolor="${fill}", color="${line}"];`;
    }),
    ...edges.map((edge) =>
      `  ${name(edge.from)} -> ${name(edge.to)} [label="${escaped(edgeText(edge))}"];`
    ),
    "}",
  ].join("\n");
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"');
}
