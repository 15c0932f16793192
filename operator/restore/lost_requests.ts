import { readNamedFile } from "../reads/named_file.ts";

/** A line of the functions' log, as far as it is read here. */
interface LogLine {
  readonly time: string;
  readonly path: string;
  readonly status: number;
  readonly caller?: string;
  readonly agent_id?: string;
  readonly key_id?: string;
  readonly ids?: Readonly<Record<string, string>>;
}

/** What a request changed that the restored database may not know. */
export interface LostRequest {
  readonly time: string;
  readonly path: string;
  /** Who asked: an agent, or the operator. */
  readonly by: string;
  readonly key_id: string | null;
  readonly ids: Readonly<Record<string, string>>;
}

/** The operations that change who may reach what. */
const CHANGES: ReadonlySet<string> = new Set([
  "/commit",
  "/grant",
  "/revoke",
  "/delete",
  "/inbox/block",
  "/inbox/unblock",
  "/peer/register",
  "/peer/remove",
  "/acl/put",
  "/acl/revoke",
  "/psk/rotate",
]);

/**
 * The successful changes in a log of the functions since then, in its order. What is no line of the
 * functions is passed over. Throws CommandError.
 */
export async function readLostRequests(file: string, since: string): Promise<LostRequest[]> {
  const text = await readNamedFile(file);
  return text.split("\n")
    .map(parseLine)
    .filter((line): line is LogLine => line !== null)
    .filter(({ time, path, status }) =>
      status === 200 && CHANGES.has(path) && Date.parse(time) > Date.parse(since)
    )
    .map(({ time, path, caller = "", agent_id, key_id = null, ids = {} }) => ({
      time,
      path,
      by: agent_id ?? caller,
      key_id,
      ids,
    }));
}

function parseLine(text: string): LogLine | null {
  if (!text.startsWith("{")) return null;
  try {
    const { time, path, status } = JSON.parse(text);
    const isRequest = typeof time === "string" && typeof path === "string" &&
      typeof status === "number";
    return isRequest ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}
