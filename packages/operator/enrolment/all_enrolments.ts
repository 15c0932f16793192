import { CommandError } from "../../command/command_error.ts";
import { callAsOperator } from "../operator_call.ts";
import { readNamedFile } from "../reads/named_file.ts";
import type { Enrolment } from "./enrolment.ts";

/**
 * Every enrolment, oldest first, page by page. Works without the functions, which do not run yet
 * after a restore. Throws CommandError.
 */
export async function* allEnrolments(): AsyncGenerator<Enrolment, void, undefined> {
  let after: string | null = null;
  do {
    const page = await callAsOperator("list_enrolments", {
      caller: { kind: "operator" },
      max_entries: 1000,
      after,
    }) as { enrolments: Enrolment[]; next_cursor: string | null };
    yield* page.enrolments;
    after = page.next_cursor;
  } while (after !== null);
}

/** The enrolment with this `enrolment_id`, or null. Throws CommandError. */
export async function findEnrolment(wanted: string): Promise<Enrolment | null> {
  for await (const enrolment of allEnrolments()) {
    if (enrolment.enrolment_id === wanted) return enrolment;
  }
  return null;
}

/** Reads a JSON object from a file. Throws CommandError, whose message does not repeat the text. */
export async function readObject(file: string): Promise<Record<string, unknown>> {
  const content = await readNamedFile(file);
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch {
    throw new CommandError(`${file} is not JSON.`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new CommandError(`${file} is not a JSON object.`);
  }
  return value as Record<string, unknown>;
}
