/** Requests about grants as work. */
import type { InboxEntry } from "../artifacts.ts";
import { type Agent, type Answer, post, type Sender, succeed } from "../client.ts";

export interface Task extends InboxEntry {
  readonly take_id: string;
  readonly taken_until: string;
  readonly state: string;
  readonly attempt: number;
  readonly next_at: string | null;
}

/** Takes tasks; anything but 200 fails the test. */
export async function take(agent: Agent, body: object = {}): Promise<Task[]> {
  return (await succeed<{ tasks: Task[] }>("/agent-artifacts/inbox/take", { as: agent, body }))
    .tasks;
}

/** Calls /inbox/extend, done, fail or requeue, which may refuse. */
export function tell(
  as: Sender,
  what: "extend" | "done" | "fail" | "requeue",
  body: object,
): Promise<Answer> {
  return post(`/agent-artifacts/inbox/${what}`, { as, body });
}

/** The entries of /inbox in these states. */
export async function inboxIn(agent: Agent, states: readonly string[]): Promise<Task[]> {
  const body = { states };
  return (await succeed<{ grants: Task[] }>("/agent-artifacts/inbox", { as: agent, body })).grants;
}

/** Every task that the agents' inboxes have, in any state. */
export async function statesOf(agent: Agent): Promise<string[]> {
  const all = await inboxIn(agent, ["waiting", "taken", "done", "parked"]);
  return all.map(({ state, attempt }) => `${state} ${attempt}`);
}
