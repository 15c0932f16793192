import { callAsOperator } from "../operator_call.ts";
import { rowsOf } from "../pages.ts";
import { readNamedFile } from "../reads/named_file.ts";

/** An agent key that the restored database takes. */
export interface LiveKey {
  readonly key_id: string;
  readonly agent_id: string;
  readonly label: string | null;
  readonly created_at: string;
  readonly last_used_at: string | null;
}

const KEY_ID = /\bkey_[0-9a-f]{32}\b/g;

/** Every key_id in a file: a list, or an export of events. Throws CommandError. */
export async function readRevoked(file: string): Promise<ReadonlySet<string>> {
  const text = await readNamedFile(file);
  return new Set(text.match(KEY_ID) ?? []);
}

/** Throws CommandError. */
export function liveKeys(): AsyncGenerator<LiveKey> {
  return rowsOf<LiveKey>("list_live_keys");
}

/** Throws CommandError. */
export async function revokeKey({ key_id }: LiveKey): Promise<void> {
  await callAsOperator("revoke_agent_key", { key_id });
}
