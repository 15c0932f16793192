import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../packages/local/project.ts";

const FUNCTIONS = "supabase/functions/_shared";
const CLIENT = "packages/cli/mcp";

/**
 * How `/mcp` and `agentfiles mcp` read arguments and show names. Functions may not import from
 * outside their folder, and the package is built from its own: so it has copies.
 */
export const SHARED_SOURCES = [
  { from: `${FUNCTIONS}/operations/mcp/arguments.ts`, file: `${CLIENT}/arguments.ts` },
  { from: `${FUNCTIONS}/operations/mcp/escapes.ts`, file: `${CLIENT}/escapes.ts` },
  { from: `${FUNCTIONS}/operations/mcp/message.ts`, file: `${CLIENT}/message.ts` },
  { from: `${FUNCTIONS}/request/reading/nearest_field.ts`, file: `${CLIENT}/nearest_field.ts` },
] as const;

/** The copy of a file of the functions. */
export async function sharedSource(from: string): Promise<string> {
  const source = await readFile(join(PROJECT, from), "utf8");
  return `// Made by \`deno task client:types\` of ${from}.\n\n${source}`;
}
