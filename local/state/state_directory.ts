import { isAbsolute, resolve } from "node:path";
import { PROJECT } from "../command/project.ts";

/** The absolute path of the state directory: STATE_DIR, default `.local` in the project. */
export function stateDirectory(): string {
  const named = Deno.env.get("STATE_DIR") || ".local";
  if (isAbsolute(named)) return named;
  return resolve(PROJECT, named);
}
