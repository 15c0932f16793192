/** How many requests agents send while nothing happens. docs/cost.md relies on this number. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { AgentFiles, AgentMesh } from "../../packages/agent-files/index.ts";
import { createAgent, SUPABASE_URL } from "../conformance/client.ts";
import { REQUESTS_PER_HOUR } from "../unit/documents/cost.ts";

const AGENTS = 50;
/** Simulates an hour in less than a minute: a wait takes 2 seconds here, and 140 by default. */
const WAIT_SECONDS = 2;
const TIMES_FASTER = 140 / WAIT_SECONDS;
const HOUR_MILLISECONDS = 3_600_000 / TIMES_FASTER;

const MOST_IN_AN_HOUR = 60;

/** Follows the inbox and the configuration, as an agent that uses both functions does. */
async function follow(signal: AbortSignal, onRequest: () => void): Promise<Promise<void>[]> {
  const { id, key } = await createAgent("idle");
  const connection = {
    url: SUPABASE_URL,
    key,
    agentId: id,
    signal,
    waitSeconds: WAIT_SECONDS,
    fetch: (input: RequestInfo | URL, init?: RequestInit) => {
      onRequest();
      return fetch(input, init);
    },
  };
  const [files, mesh] = [new AgentFiles(connection), new AgentMesh(connection)];
  // The last byte keeps the public key below 2^255−19, whatever the other bytes are.
  const pubkey = Buffer.concat([randomBytes(31), Buffer.from([0x40])]).toString("base64");
  await mesh.register({ pubkey });
  const untilAborted = async (items: AsyncIterable<unknown>) => {
    try {
      await Array.fromAsync(items);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  };
  return [untilAborted(files.inbox({ wait: true })), untilAborted(mesh.configurations())];
}

Deno.test(`an hour of ${AGENTS} agents that use both functions, ${TIMES_FASTER} times as fast, while nothing happens → at most ${MOST_IN_AN_HOUR} requests each, and no more than docs/cost.md counts once they wait`, async () => {
  const over = new AbortController();
  const requests: number[] = Array(AGENTS).fill(0);
  const followers = await Promise.all(
    requests.map((_, number) => follow(over.signal, () => requests[number]!++)),
  );
  // By then, every agent has read its inbox and its configuration, and waits.
  await new Promise((resolve) => setTimeout(resolve, 2000 * WAIT_SECONDS));
  const atStart = [...requests];
  await new Promise((resolve) => setTimeout(resolve, HOUR_MILLISECONDS));
  const inAnHour = requests.map((count, number) => count - atStart[number]!);
  over.abort();
  await Promise.all(followers.flat());
  const [first, most] = [Math.max(...atStart), Math.max(...inAnHour)];
  console.log(`at the start ${first} at most, in an hour ${most} at most`);
  assert.ok(first + most <= MOST_IN_AN_HOUR, `${first} and ${most}`);
  assert.ok(most <= REQUESTS_PER_HOUR, `${most}: more than the page's ${REQUESTS_PER_HOUR}`);
  assert.ok(Math.min(...inAnHour) > 0, "they wait");
});
