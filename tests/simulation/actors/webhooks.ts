import type { JsonObject } from "../../conformance/client.ts";
import type { KnownWebhook } from "../known/webhooks.ts";
import { CREW } from "../known/tasks.ts";
import type { Move } from "../registry.ts";
import type { Turn } from "../turn.ts";
import { Receivers } from "../webhooks/receivers.ts";
import { call } from "./operator_calls.ts";

const MINUTE = 60;

/** Agents that stay: erasing one that a webhook names would end it. */
const FILTERS: readonly JsonObject[] = [
  {},
  {},
  { agent_id: "ann" },
  { agent_id: "bob" },
  { tag: CREW },
  { types: ["grant.created", "artifact.committed", "standing.ended"] },
];

/** Sends what is due. Returns how many attempts were made; null: no answer. */
async function deliver(turn: Turn): Promise<{ delivered: number; failed: number } | null> {
  const { status, answer } = await turn.ask("/agent-artifacts/webhooks/deliver", "operator", {});
  return status === 200 ? answer as { delivered: number; failed: number } : null;
}

/**
 * Sends everything that waits, while all receivers accept it. What still fails has been forgotten
 * by the log of events, and is parked a day later.
 */
export async function deliverRest(turn: Turn): Promise<void> {
  turn.say("the schedule delivers until nothing is due");
  for (const pause of [26, 26]) {
    await turn.sleep(pause * 3_600_000);
    let failed = 0;
    for (let made = 1; made > 0;) {
      const counts = await deliver(turn);
      made = counts === null ? 1 : counts.delivered + counts.failed;
      failed += counts?.failed ?? 0;
    }
    if (failed === 0) return;
  }
}

export const WEBHOOK_MOVES: readonly Move[] = [
  {
    name: "operator makes a webhook",
    weight: 1.5,
    async play(turn) {
      const name = `w${turn.step}`;
      const filter = turn.random.pick([...FILTERS]);
      turn.say(`operator makes a webhook for ${JSON.stringify(filter)}: ${name}`);
      const request = { url: Receivers.urlOf(name), ...filter };
      const made = await turn.ask("/agent-artifacts/webhooks/put", "operator", request);
      if (made.status !== 200) return;
      const { webhook_id: id } = made.answer as Record<string, string>;
      turn.world.transcript.rename(id!, name);
      turn.known.webhooks.made.push({ name, id: id! });
    },
  },
  {
    name: "the schedule delivers",
    weight: 4,
    async play(turn) {
      // As docs/backup.md says, nothing is sent while the operator restores.
      if (turn.world.isClosed) return;
      const count = turn.random.pick([1, 1, 2]);
      turn.say(`${count} calls deliver`);
      const calls = Array.from({ length: count }, () => deliver(turn));
      if (turn.random.isOneIn(3)) {
        await turn.sleep(turn.random.pick([4, 8, 300]));
        const instance = turn.world.instanceOf("agent-artifacts");
        turn.say(`${instance.name} dies`);
        instance.kill();
      }
      await Promise.all(calls);
    },
  },
  {
    name: "a receiver goes down or comes back",
    weight: 1.5,
    play(turn) {
      const { down } = turn.world.receivers;
      const name = turn.pick(turn.known.webhooks.made)?.name;
      if (name === undefined) return Promise.resolve();
      const isBack = down.delete(name);
      if (!isBack) down.add(name);
      turn.say(`the receiver of ${name} ${isBack ? "comes back" : "goes down"}`);
      return Promise.resolve();
    },
  },
  {
    name: "operator requeues deliveries",
    weight: 1,
    async play(turn) {
      const webhook = turn.pick(turn.known.webhooks.made);
      if (webhook === null) return;
      turn.say(`operator requeues the deliveries of ${webhook.name}`);
      await call(turn, "requeue_deliveries", { webhook_id: webhook.id });
    },
  },
  {
    name: "operator deletes a webhook",
    weight: 0.4,
    async play(turn) {
      const webhook = turn.pick(turn.known.webhooks.made);
      if (webhook === null) return;
      turn.say(`operator deletes ${webhook.name}`);
      await call(turn, "delete_webhook", { webhook_id: webhook.id });
    },
  },
];

/** Gives a webhook another secret. The answer must tell the secret that signs from now on. */
async function rotate(turn: Turn, { name, id }: KnownWebhook): Promise<void> {
  const { known, world } = turn;
  const overlap_seconds = turn.random.pick([0, 10, 10 * MINUTE, null]);
  turn.say(`operator rotates the secret of ${name}, overlap ${overlap_seconds ?? "of a day"}`);
  const others = known.webhooks.rotating.get(id) ?? 0;
  known.webhooks.rotating.set(id, others + 1);
  const { status, answer, start } = await turn.ask("/agent-artifacts/webhooks/put", "operator", {
    webhook_id: id,
    ...(overlap_seconds === null ? {} : { overlap_seconds }),
  });
  // Whoever rotates at the same time, or got no answer, may have the last word.
  if (status !== 200 || known.webhooks.rotating.get(id) !== 1) return;
  known.webhooks.rotating.set(id, 0);
  if (world.isClosed || (known.identities.restoredAt ?? 0) > start) return;
  if (!world.handedOut.secrets.isNewest(id, String(answer!["secret"]))) {
    world.receivers.faults.push(`the secret that was told for ${name} does not sign`);
  }
}

export const ROTATION_MOVES: readonly Move[] = [
  {
    name: "operator rotates a webhook's secret",
    weight: 3,
    async play(turn) {
      // A restore may bring the secret of before back.
      if (turn.world.isClosed) return;
      const webhook = turn.pick(turn.known.webhooks.made);
      if (webhook !== null) await rotate(turn, webhook);
    },
  },
];
