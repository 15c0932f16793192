import { CommandError } from "../../local/command/command_error.ts";
import { readNamedFile } from "../reads/named_file.ts";

/** What was revoked after the backup. */
export interface Revoked {
  readonly keys: ReadonlySet<string>;
  readonly enrolments: ReadonlySet<string>;
  /** How many events of the file are not revocations. */
  readonly ignored: number;
}

export const NOTHING_REVOKED: Revoked = { keys: new Set(), enrolments: new Set(), ignored: 0 };

const ID = /^(key|enr)_[0-9a-f]{32}$/;

/** The field that names what an event revoked. */
const REVOKED_ID: Readonly<Record<string, "key_id" | "enrolment_id">> = {
  "key.revoked": "key_id",
  "enrolment.revoked": "enrolment_id",
};

/**
 * The revoked ids in a file: one id a line, or events as `deno task events --json` prints them.
 * Only revocation events count: other events name keys that are in use. Throws CommandError.
 */
export async function readRevoked(file: string): Promise<Revoked> {
  const lines = (await readNamedFile(file)).split("\n").map((line) => line.trim());
  const ids = new Set<string>();
  let ignored = 0;
  for (const [index, line] of lines.entries()) {
    if (line === "") continue;
    const id = revokedIn(line);
    if (id === undefined) {
      throw new CommandError(
        `Line ${
          index + 1
        } of ${file} is neither an id of an agent key or an enrolment nor an event in JSON.`,
      );
    }
    if (id === null) ignored++;
    else ids.add(id);
  }
  const startingWith = (prefix: string) =>
    new Set(Array.from(ids).filter((id) => id.startsWith(prefix)));
  return { keys: startingWith("key_"), enrolments: startingWith("enr_"), ignored };
}

/** Null for an event that revokes nothing; undefined for neither an id nor an event. */
function revokedIn(line: string): string | null | undefined {
  if (ID.test(line)) return line;
  const { type, ...facts } = parseObject(line) ?? {};
  if (typeof type !== "string") return undefined;
  const field = REVOKED_ID[type];
  if (field === undefined) return null;
  const id = facts[field];
  return typeof id === "string" && ID.test(id) ? id : undefined;
}

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}
