/** Runtimes and tools from npm, for tests of the packed package. */
import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { runProgram } from "../../../packages/local/processes/run_program.ts";
import { installPackage } from "../installed_package.ts";

/** The exact versions that the tests install. */
export const TOOLS = {
  "@hey-api/openapi-ts": "0.99.0",
  "@modelcontextprotocol/conformance": "0.1.16",
  bun: "1.4.5",
  esbuild: "0.28.2",
  ioredis: "6.0.0",
  // The newest version that runs on Node 20.
  miniflare: "4.20260426.0",
  mysql2: "3.24.6",
  node20: `npm:node-${process.platform}-${process.arch}@20.20.2`,
  node22: `npm:node-${process.platform}-${process.arch}@22.23.3`,
  node24: `npm:node-${process.platform}-${process.arch}@24.21.0`,
  "openapi-fetch": "0.17.0",
  "openapi-typescript": "7.13.0",
  orval: "8.38.0",
  pg: "8.23.1",
  "proxy-chain": "3.0.1",
  typescript: "5.9.3",
  // The newest version that runs on Node 20.
  undici: "7.30.2",
  ws: "8.23.0",
} as const;

/** The program names of every Node: the machine's own, and those from npm. */
export const NODES = ["node", "node22", "node24"] as const;

type Runtime = typeof NODES[number] | "node20" | "bun";

/** The path of a runtime in a project that has it as a tool. */
export function runtimeIn(folder: string, name: Runtime): string {
  if (name === "node") return name;
  return join(folder, "node_modules", name === "bun" ? ".bin/bun" : `${name}/bin/node`);
}

/** Runs a test in an empty project that has the packed package and these tools. */
export async function inProject(
  tools: readonly (keyof typeof TOOLS)[],
  test: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = await makeProject(tools);
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Makes such a project. Resolves to its folder, which is the caller's to remove. */
export async function makeProject(tools: readonly (keyof typeof TOOLS)[]): Promise<string> {
  const folder = await Deno.makeTempDir();
  try {
    await installPackage(folder);
    const names = tools.map((tool) => `${tool}@${TOOLS[tool]}`);
    if (names.length > 0) {
      await succeed("npm", ["install", "--no-audit", "--no-fund", ...names], { cwd: folder });
    }
    return folder;
  } catch (error) {
    await Deno.remove(folder, { recursive: true });
    throw error;
  }
}

/** Runs a program that must succeed. Resolves to its output. */
export async function succeed(
  program: string,
  args: readonly string[],
  { cwd, env = {} }: { readonly cwd: string; readonly env?: Record<string, string> },
): Promise<string> {
  const { code, output, errors } = await runProgram(program, { args: [...args], cwd, env });
  // Compilers report errors on standard output.
  assert.equal(code, 0, errors || output);
  return output;
}
