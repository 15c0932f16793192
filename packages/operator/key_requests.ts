import { AGENT_ID } from "../../supabase/functions/_shared/identity/named_ids.ts";
import { timestamp } from "../../supabase/functions/_shared/request/fields.ts";
import { CommandError } from "../command/command_error.ts";
import { readNamedFile } from "./reads/named_file.ts";

/** The agent key to make, as `create_agent_key` takes it. */
export interface KeyRequest {
  readonly agent_id: string;
  readonly label: string | null;
  readonly expires_at: string | null;
}

/** A key request and its line in the file, from 1. */
export interface NumberedRequest extends KeyRequest {
  readonly line: number;
}

/**
 * Reads the keys that a file asks for (`-`: standard input). Each line is an agent_id and, after a
 * space, an optional label. Empty lines and lines that begin with # are skipped. Throws
 * CommandError for a malformed line, before anything is made.
 */
export async function readKeyRequests(
  file: string,
  defaults: { readonly label: string | null; readonly expires_at: string | null },
): Promise<NumberedRequest[]> {
  const lines = (await readNamedFile(file)).split("\n").map((line) => line.trim());
  return lines.flatMap((line, index) => {
    if (line === "" || line.startsWith("#")) return [];
    const [agent_id = "", ...words] = line.split(/\s+/);
    if (!AGENT_ID.test(agent_id)) {
      throw new CommandError(
        `Line ${
          index + 1
        } of ${file} does not begin with an agent_id: 1 to 128 of A-Z a-z 0-9 . _ : @ -, beginning with a letter or digit. No agent key was made.`,
      );
    }
    const label = words.length > 0 ? words.join(" ") : defaults.label;
    return [{ line: index + 1, agent_id, label, expires_at: defaults.expires_at }];
  });
}

/**
 * Accepts the same form as a request does. PostgreSQL would also accept `tomorrow`, `01/02/2027`
 * and `infinity`. Throws CommandError.
 */
export function readExpiry(text: string | undefined): string | null {
  if (text === undefined) return null;
  const parsed = timestamp.safeParse(text);
  if (!parsed.success) {
    throw new CommandError(
      "--expires-at must be an ISO 8601 timestamp in UTC, such as 2027-01-31T09:30:00Z. No agent key was made.",
    );
  }
  return parsed.data;
}
