import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../packages/local/project.ts";

const FUNCTIONS = "supabase/functions";
const SHARED = `${FUNCTIONS}/_shared`;
const CLIENT = "packages/cli/mcp";

/**
 * How `/mcp` and `agentfiles mcp` read arguments, show names, and answer hosts that poll tasks.
 * Functions may not import from outside their folder, and the package is built from its own: so it
 * has copies.
 */
export const SHARED_SOURCES = [
  { from: `${FUNCTIONS}/agent-artifacts/mcp/given_task.ts`, file: `${CLIENT}/given_task.ts` },
  { from: `${SHARED}/operations/mcp/arguments.ts`, file: `${CLIENT}/arguments.ts` },
  { from: `${SHARED}/operations/mcp/escapes.ts`, file: `${CLIENT}/escapes.ts` },
  { from: `${SHARED}/operations/mcp/message.ts`, file: `${CLIENT}/message.ts` },
  { from: `${SHARED}/operations/mcp/task_extension.ts`, file: `${CLIENT}/task_extension.ts` },
  { from: `${SHARED}/request/reading/nearest_field.ts`, file: `${CLIENT}/nearest_field.ts` },
] as const;

/** The copy of a file of the functions, which imports other copies. */
export async function sharedSource(from: string): Promise<string> {
  const text = await readFile(join(PROJECT, from), "utf8");
  const source = text.replaceAll(/(?<= from ")\.\.?\/(?:[^"]*\/)?(?=[^"/]*")/g, "./");
  return `// Made by \`deno task client:types\` of ${from}.\n\n${source}`;
}
