/** The paths of the operations, and the file of each card. */
import { OPERATIONS as ARTIFACTS } from "../../supabase/functions/agent-artifacts/app.ts";
import { OPERATIONS as MESH } from "../../supabase/functions/agent-mesh/app.ts";
import type { FunctionName } from "./card.ts";

export const FUNCTIONS = ["agent-artifacts", "agent-mesh"] as const;

const FOLDERS = { "agent-artifacts": "artifacts", "agent-mesh": "mesh" } as const;

/** In the order of the function's `app.ts`. */
export function pathsOf(name: FunctionName): string[] {
  return Object.keys(name === "agent-artifacts" ? ARTIFACTS : MESH);
}

/** The file of an operation's card, below the project. */
export function fileOfCard(name: FunctionName, path: string): string {
  const folder = path in ARTIFACTS && path in MESH ? "shared" : FOLDERS[name];
  // A file named `test.ts` would be a test.
  return `tests/operations/${folder}${path.replace(/\/test$/, "/test_proof")}.ts`;
}
