import type { GraphEdge, GraphNode, State } from "./graph.ts";

const NAMES_SHOWN = 4;
const PORTS_SHOWN = 4;

/** The colours of the states, in every picture. */
export const COLOURS: Readonly<Record<State, { readonly fill: string; readonly line: string }>> = {
  online: { fill: "#d3f9d8", line: "#2b8a3e" },
  lags: { fill: "#fff3bf", line: "#e67700" },
  offline: { fill: "#f1f3f5", line: "#868e96" },
  "without peer": { fill: "#ffe3e3", line: "#c92a2a" },
};

const IN_WORDS: Readonly<Record<State, string | null>> = {
  online: null,
  lags: "old configuration",
  offline: "offline",
  "without peer": "no peer",
};

/** The lines of a node's text. */
export function nodeLines({ agentIds, state }: GraphNode): string[] {
  const names = agentIds.slice(0, NAMES_SHOWN);
  const others = agentIds.length - names.length;
  return [
    ...(agentIds.length > 1 ? [`${agentIds.length} agents`] : []),
    ...names,
    ...(others > 0 ? [`and ${others} more`] : []),
    ...(IN_WORDS[state] === null ? [] : [IN_WORDS[state]]),
  ];
}

/** The lines of an edge's text, such as `tcp 22, tcp 443` and `does not work`. */
export function edgeLines({ ports, paths }: GraphEdge): string[] {
  const shown = ports.slice(0, PORTS_SHOWN);
  const others = ports.length - shown.length;
  return [
    [...shown, ...(others > 0 ? [`${others} more`] : [])].join(", "),
    ...(paths.text === "" ? [] : [paths.text]),
  ];
}
