/** What hosts of the pipeline share: a scripted model that calls tools. */
import type { CalledTool, McpClient } from "../../../conformance/mcp/mcp_client.ts";
import type { Desk } from "./hand_on.ts";

/** How a model works by the tools of one server. Paths or ids name the files. */
export interface Script<Task> {
  /** Waits for a task; null if none came. */
  readonly take: () => Promise<Task | null>;
  readonly work: (task: Task) => Promise<void>;
}

/** A refusal, which a model reads in the answer. */
export class RefusedCall extends Error {
  constructor(readonly code: string, tool: string) {
    super(`${tool}: ${code}`);
  }
}

/** Calls a tool. Throws RefusedCall. */
export async function use<Body>(client: McpClient, tool: string, given: object): Promise<Body> {
  const { isError, body }: CalledTool<unknown> = await client.call(tool, given);
  if (isError) throw new RefusedCall((body as { error: { code: string } }).error.code, tool);
  return body as Body;
}

/**
 * Hands on a file under the task's name: the one of an earlier attempt, if there is one, or the one
 * that `put` makes. However often this is repeated, the next agent gets one task.
 */
export async function handOnByTools(
  client: McpClient,
  { grantId, to, put }: {
    readonly grantId: string;
    readonly to: string;
    readonly put: (key: string) => Promise<{ readonly artifact_id: string }>;
  },
): Promise<void> {
  const key = `steps/${grantId}`;
  const list = await use<{ artifacts: { artifact_id: string }[] }>(client, "list", { prefix: key });
  const { artifact_id } = list.artifacts[0] ?? await put(key);
  const given = { artifact_id, to_agent: to, idempotency_key: grantId };
  await use(client, "hand_over", given).catch((error) => {
    // An earlier attempt that still ran has handed over another file with this text.
    if (!(error instanceof RefusedCall && error.code === "idempotency_conflict")) throw error;
  });
}

/** Works until the process is killed, or its server ends. */
export async function workOn<Task>({ take, work }: Script<Task>): Promise<never> {
  for (;;) {
    try {
      const task = await take();
      if (task !== null) await work(task);
    } catch (error) {
      // Another process of this agent may have the task now.
      if (!(error instanceof RefusedCall && error.code === "take_lapsed")) throw error;
    }
  }
}

/** The agents speak different versions of the protocol. */
export function dialectOf({ role }: Desk) {
  return role === "planner" ? "2026-07-28" : role === "builder" ? "2025-11-25" : "SDK 1.x";
}
