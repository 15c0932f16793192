import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { CommandError } from "../../packages/command/command_error.ts";
import { runProgramTask } from "../../packages/command/run_task.ts";

/** What a test process writes: `seen` of tests/conformance/fields/answered_fields.ts. */
interface SeenFields {
  readonly optional: readonly string[];
  readonly answered: readonly string[];
}

/**
 * The optional fields of answers that no answer had, according to the files that test processes
 * wrote to `folder`. An SQL function that forgets such a field passes every other test. An object
 * that no answer had, such as that of a commit that takes long, is not looked at.
 */
export async function findUnansweredFields(folder: string): Promise<string[]> {
  const optional = new Set<string>();
  const answered = new Set<string>();
  for (const file of await readdir(folder)) {
    const seen = JSON.parse(await readFile(join(folder, file), "utf8")) as SeenFields;
    for (const name of seen.optional) optional.add(name);
    for (const name of seen.answered) answered.add(name);
  }
  const objects = new Set(Array.from(answered, objectOf));
  return Array.from(optional.difference(answered)).filter((name) => objects.has(objectOf(name)))
    .sort();
}

/** `Event` of `Event key`. */
function objectOf(field: string): string {
  return field.split(" ").slice(0, -1).join(" ");
}

/**
 * Fails if the tests that ran with ANSWERED_FIELDS, a folder, had no answer with an optional field.
 * Name the folder as the argument.
 */
async function main(): Promise<void> {
  const [folder] = Deno.args;
  if (folder === undefined) throw new CommandError("Name the folder that ANSWERED_FIELDS named.");
  const unanswered = await findUnansweredFields(folder);
  if (unanswered.length === 0) return;
  throw new CommandError(
    `No answer of any test had ${unanswered.join(", ")}: assert it in a test.`,
  );
}

if (import.meta.main) await runProgramTask(main);
