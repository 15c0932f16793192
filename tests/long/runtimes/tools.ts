/** Runtimes and tools as npm gives them, for tests of the packed package. */
import assert from "node:assert/strict";
import { runProgram } from "../../../local/processes/run_program.ts";
import { installPackage } from "../installed_package.ts";

/** What the tests install, exactly. */
export const VERSIONS = {
  bun: "1.4.5",
  esbuild: "0.28.2",
  // The newest whose workerd runs under Node 20.
  miniflare: "4.20260426.0",
  node22: "22.23.3",
  node24: "24.9.0",
  "proxy-chain": "3.0.1",
} as const;

type Tool = "bun" | "esbuild" | "miniflare" | "proxy-chain";

/** Runs a test in an empty project that has the packed package and these tools. */
export async function inProject(
  tools: readonly Tool[],
  test: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await installPackage(folder);
    const names = tools.map((tool) => `${tool}@${VERSIONS[tool]}`);
    if (names.length > 0) {
      await succeed("npm", ["install", "--no-audit", "--no-fund", ...names], { cwd: folder });
    }
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Runs a program that has to succeed. Resolves to what it wrote. */
export async function succeed(
  program: string,
  args: readonly string[],
  { cwd, env = {} }: { readonly cwd: string; readonly env?: Record<string, string> },
): Promise<string> {
  const { code, output, errors } = await runProgram(program, { args: [...args], cwd, env });
  assert.equal(code, 0, errors);
  return output;
}

/** How each Node is called, the machine's own first. */
export const NODES: readonly (readonly [string, readonly [string, ...string[]]])[] = [
  ["the machine's Node", ["node"]],
  ["Node 22", ["npx", "-y", `node@${VERSIONS.node22}`]],
  ["Node 24", ["npx", "-y", `node@${VERSIONS.node24}`]],
];
