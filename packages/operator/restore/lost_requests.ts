import { readNamedFile } from "../reads/named_file.ts";

/** A line of the functions' log: the fields that are read here. */
interface LogLine {
  readonly time: string;
  readonly path: string | null;
  /** The operations that an MCP client's message called. */
  readonly operations?: readonly string[];
  readonly status: number;
  readonly error?: string;
  readonly caller?: string;
  readonly agent_id?: string;
  readonly key_id?: string;
  readonly ids?: Readonly<Record<string, string>>;
}

/** A request whose change may be missing from the restored database. */
export interface LostRequest {
  readonly time: string;
  /** The operation. */
  readonly path: string;
  /** Who asked: an agent or the operator; empty for operations that need no credential. */
  readonly by: string;
  readonly key_id: string | null;
  readonly ids: Readonly<Record<string, string>>;
  /** Only in an MCP client's message: the error of one of its operations. */
  readonly error: string | null;
}

/**
 * Operations whose loss in a restore needs no attention. Every other path is listed, so that a new
 * one is not forgotten.
 */
export const PASSED_OVER: ReadonlySet<string> = new Set([
  // These read.
  "/list",
  "/versions",
  "/grants",
  "/inbox",
  "/events",
  "/netmap",
  "/relay",
  "/psk/keys",
  "/standing/list",
  "/recipients",
  "/enrolment/list",
  "/enrolment/test",
  "/whoami",
  "/health",
  "/metrics",
  "/openapi.json",
  "/.well-known/oauth-protected-resource",
  // These count downloads.
  "/open",
  "/fetch",
  "/d/:grant_token",
  // Agents and timers repeat these by themselves.
  "/wait",
  "/inbox/take",
  "/inbox/extend",
  "/peer/heartbeat",
  "/wg_config",
  "/sweep",
  "/webhooks/deliver",
  // Before /commit, nobody else holds what was registered.
  "/register",
]);

/** This path is always answered with 200, whatever its operations do. */
const ENVELOPE = "/mcp";

/**
 * The successful changes after `since` in a log of the functions, in its order. Other lines are
 * skipped. Throws CommandError.
 */
export async function readLostRequests(file: string, since: string): Promise<LostRequest[]> {
  const text = await readNamedFile(file);
  return text.split("\n")
    .map(parseLine)
    .filter((line): line is LogLine => line !== null)
    .filter(({ time, status }) => status === 200 && Date.parse(time) > Date.parse(since))
    .flatMap((line) => {
      const { time, caller = "", agent_id, key_id = null, ids = {}, error = null } = line;
      const facts = { time, by: agent_id ?? caller, key_id, ids, error };
      return changesOf(line).map((path) => ({ path, ...facts }));
    });
}

function changesOf({ path, operations = [] }: LogLine): readonly string[] {
  const paths = path === ENVELOPE ? operations : path === null ? [] : [path];
  return paths.filter((one) => !PASSED_OVER.has(one));
}

function parseLine(text: string): LogLine | null {
  if (!text.startsWith("{")) return null;
  try {
    const line = JSON.parse(text) as LogLine;
    const isRequest = typeof line.time === "string" && typeof line.status === "number" &&
      (line.path === null || typeof line.path === "string");
    return isRequest ? line : null;
  } catch {
    return null;
  }
}
