import { isAbsolute, resolve } from "node:path";
import { PROJECT } from "../command/project.ts";

/** The absolute path of the state directory: STATE_DIR, default `.local` in the project. */
export function stateDirectory(
  environment: Readonly<Record<string, string>> = Deno.env.toObject(),
): string {
  const named = environment["STATE_DIR"] || ".local";
  if (isAbsolute(named)) return named;
  return resolve(PROJECT, named);
}
