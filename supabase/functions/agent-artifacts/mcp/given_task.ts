import type { McpTask } from "../../_shared/operations/mcp/task_extension.ts";

/** What /grants says about one grant. */
export interface Given {
  readonly grant_id: string;
  readonly artifact_id: string;
  readonly granted_at: string;
  readonly expires_at: string;
  readonly ended?: boolean;
  readonly state?: "waiting" | "taken" | "done" | "parked" | null;
  readonly attempt?: number | null;
  readonly shown_at?: string | null;
  readonly taken_by?: string | null;
  readonly done_at?: string | null;
  readonly reason?: string | null;
  readonly reply_grant_id?: string | null;
  /** Of a grant to each agent of a tag: how many of its tasks are in which state. */
  readonly tasks?: Readonly<Record<"waiting" | "taken" | "done" | "parked", number>> | null;
}

const POLL_MILLISECONDS = 5000;

const UNKNOWN_RECIPIENT = "Nobody has had the name `to_agent` so far: check its spelling.";

/** The task that a grant begins, by the answer to hand_over. */
export function begunBy(answer: object): McpTask {
  const given = answer as Pick<Given, "grant_id" | "artifact_id" | "expires_at">;
  const granted_at = new Date().toISOString();
  const task = taskOf({ ...given, granted_at, state: "waiting" });
  return "unknown_recipient" in answer ? { ...task, statusMessage: UNKNOWN_RECIPIENT } : task;
}

/** A grant that hand_over made, as a task that its giver's host polls. */
export function taskOf(given: Given): McpTask {
  const { grant_id, granted_at, expires_at, shown_at, done_at } = given;
  return {
    taskId: grant_id,
    createdAt: granted_at,
    lastUpdatedAt: [granted_at, shown_at, done_at].filter(Boolean).toSorted().at(-1)!,
    ttlMs: Math.max(0, Date.parse(expires_at) - Date.parse(granted_at)),
    pollIntervalMs: POLL_MILLISECONDS,
    ...progressOf(given),
  };
}

function progressOf(given: Given): Pick<McpTask, "status" | "statusMessage" | "outcome"> {
  const { grant_id, artifact_id, state, attempt, taken_by, done_at, reason, tasks } = given;
  const facts = { grant_id, artifact_id };
  if (tasks) {
    const isOver = tasks.waiting + tasks.taken === 0 && tasks.done + tasks.parked > 0;
    if (isOver) {
      return {
        status: "completed",
        outcome: { body: { ...facts, tasks }, isError: tasks.done === 0 },
      };
    }
  } else if (state === "done") {
    const { reply_grant_id } = given;
    const body = { ...facts, state, taken_by, done_at, reply_grant_id };
    return { status: "completed", outcome: { body, isError: false } };
  }
  if (given.ended) return { status: "cancelled", statusMessage: "The grant has ended." };
  if (state === "parked") {
    // Not `failed`: that is an error of the protocol.
    const body = { ...facts, state, attempt, reason };
    return { status: "completed", outcome: { body, isError: true } };
  }
  const statusMessage = state === "taken" ? `${taken_by} works on it.` : "Nobody has taken it yet.";
  return { status: "working", ...(!tasks && { statusMessage }) };
}
