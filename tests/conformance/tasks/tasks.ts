/** Requests about grants as work. */
import assert from "node:assert/strict";
import type * as Contract from "../../../packages/agent-files/contract/types.ts";
import { givenGrants } from "../artifacts.ts";
import { type Agent, type Answer, post, type Sender, succeed } from "../client.ts";

export type Task = Readonly<Required<Contract.TaskEntry>>;

/** What /grants says about a grant to an agent that nobody has looked at. */
export const UNTOUCHED = {
  note: null,
  deliver: "each",
  state: "waiting",
  attempt: 0,
  shown_at: null,
  taken_by: null,
  taken_until: null,
  done_at: null,
  reason: null,
  reply_grant_id: null,
  tasks: null,
};

/** What the giver of a single grant sees of it as work. */
export async function workOf(giver: Agent): Promise<typeof UNTOUCHED> {
  const { grants } = await givenGrants(giver);
  assert.equal(grants.length, 1);
  const names = Object.keys(UNTOUCHED) as (keyof typeof UNTOUCHED)[];
  return Object.fromEntries(names.map((name) => [name, grants[0]![name]])) as typeof UNTOUCHED;
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
