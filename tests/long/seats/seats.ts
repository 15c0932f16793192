/** The seats in which the hand-over is tested. docs/artifacts.md has the same table. */

interface Seat {
  readonly name: string;
  /** The client that runs in this seat. */
  readonly client: string;
  /** Matches the version that the program reports. */
  readonly version: RegExp;
}

const PACKAGE = "the TypeScript package";
const MODULE = "the Python package";
const TOOLS = "the tools at `/mcp`";
const PROGRAM = "the Python package, by its program in `docs/frameworks.md`";

export const SEATS = [
  { name: "Node 20", client: PACKAGE, version: /^v20\./ },
  { name: "Node 22", client: PACKAGE, version: /^v22\./ },
  { name: "Node 24", client: PACKAGE, version: /^v24\./ },
  { name: "Deno 2.9.6", client: PACKAGE, version: /^2\.9\.6$/ },
  { name: "Deno 2.1.4", client: PACKAGE, version: /^2\.1\.4$/ },
  { name: "Bun", client: PACKAGE, version: /^\d+\.\d+\.\d+$/ },
  { name: "workerd", client: PACKAGE, version: /^workerd \d{4}-\d\d-\d\d$/ },
  { name: "Chromium", client: PACKAGE, version: /^\d+\.[\d.]+$/ },
  { name: "Python 3.10", client: MODULE, version: /^3\.10\./ },
  { name: "Python 3.11 or newer", client: MODULE, version: /^3\.(1[1-9]|[2-9]\d)\./ },
  { name: "MCP client 1.x", client: TOOLS, version: /^1\./ },
  { name: "MCP client 2.x", client: TOOLS, version: /^2\./ },
  { name: "orval", client: "what it generates from `/openapi.json`", version: /^\d+\./ },
  { name: "@hey-api/openapi-ts", client: "what it generates from `/openapi.json`", version: /^\d/ },
  {
    name: "openapi-typescript",
    client: "openapi-fetch, with the types that it generates from `/openapi.json`",
    version: /^\d+\./,
  },
  {
    name: "openapi-python-client",
    client: "what it generates from `/openapi.json`",
    version: /^\d+\./,
  },
  { name: "ai", client: TOOLS, version: /^\d+\./ },
  { name: "@openai/agents", client: TOOLS, version: /^\d+\./ },
  { name: "@mastra/core", client: TOOLS, version: /^\d+\./ },
  { name: "@langchain/langgraph", client: TOOLS, version: /^\d+\./ },
  { name: "@google/adk", client: TOOLS, version: /^\d+\./ },
  { name: "google-adk", client: PROGRAM, version: /^\d+\./ },
  { name: "a2a-sdk", client: PROGRAM, version: /^\d+\./ },
  { name: "openai-agents", client: PROGRAM, version: /^\d+\./ },
  { name: "pydantic-ai-slim", client: PROGRAM, version: /^\d+\./ },
  { name: "claude-agent-sdk", client: PROGRAM, version: /^\d+\./ },
  { name: "langgraph", client: PROGRAM, version: /^\d+\./ },
  { name: "deepagents", client: PROGRAM, version: /^\d+\./ },
  { name: "mcp", client: TOOLS, version: /^\d+\./ },
  { name: "fastmcp", client: TOOLS, version: /^\d+\./ },
] as const satisfies readonly Seat[];

export type SeatName = typeof SEATS[number]["name"];

export interface Row {
  /** The version that the program itself reported. */
  readonly version: string;
  readonly result: string;
}

/** One line for each seat. A seat without a row did not run. */
export function tableOf(rows: ReadonlyMap<SeatName, Row>): string {
  const lines = [
    ["Seat", "Client", "Version", "Result"],
    ...SEATS.map(({ name, client }) => {
      const { version, result } = rows.get(name) ?? { version: "", result: "MISSING" };
      return [name, client, version, result];
    }),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines
    .map((line) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "))
    .join("\n");
}
