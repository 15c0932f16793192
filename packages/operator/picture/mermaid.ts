import type { Graph, GraphEdge, GraphNode, State } from "./graph.ts";
import { COLOURS, edgeLines, nodeLines } from "./labels.ts";

/** The picture as a Mermaid flowchart, which GitHub and many editors draw. */
export function renderMermaid({ nodes, edges }: Graph): string {
  const names = new Map(nodes.map((node, index) => [node, `n${index + 1}`]));
  const name = (node: GraphNode) => names.get(node)!;
  const states = new Set(nodes.map(({ state }) => state));
  return [
    "flowchart LR",
    ...nodes.map((node) => `  ${name(node)}["${nodeLines(node).map(escaped).join("<br/>")}"]`),
    ...edges.map((edge) =>
      `  ${name(edge.from)} ${arrowOf(edge)}|"${edgeLines(edge).join("<br/>")}"| ${name(edge.to)}`
    ),
    ...Array.from(states, (state) => {
      const { fill, line } = COLOURS[state];
      return `  classDef ${classOf(state)} fill:${fill},stroke:${line},color:#212529`;
    }),
    ...Array.from(states, (state) => {
      const members = nodes.filter((node) => node.state === state).map(name);
      return `  class ${members.join(",")} ${classOf(state)}`;
    }),
  ].join("\n");
}

/** Dotted, if a path does not work. */
function arrowOf({ paths }: GraphEdge): string {
  return paths.broken > 0 ? "-.->" : "-->";
}

function classOf(state: State): string {
  return state.replaceAll(" ", "-");
}

function escaped(text: string): string {
  return text.replaceAll('"', "#quot;");
}
