import assert from "node:assert/strict";
import { artifactTest, grant, publish } from "../../conformance/artifacts.ts";
import { askUntil } from "../../conformance/ask_until.ts";
import { createAgent, operatorRpc, SUPABASE_URL } from "../../conformance/client.ts";
import { startOwnFunction } from "../own_function.ts";
import { failing, type Proxy, startProxy } from "../proxy.ts";
import { assertEmpty, pollPasses, pollsOf, waitInInbox } from "./waiters.ts";

const AGENTS = 20;
const WAITERS_OF_EACH = 25;
const WAITERS = AGENTS * WAITERS_OF_EACH;

/** The number of calls through the proxy within this many milliseconds from now. */
async function passesWithin(proxy: Proxy, milliseconds: number): Promise<number> {
  proxy.passed.length = 0;
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  return proxy.passed.length;
}

artifactTest(
  `${WAITERS} requests that wait → one query a second for all of them, and none when they are gone`,
  async ({ planner }) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    const artifact = await publish(planner);
    const agents = await Promise.all(
      Array.from({ length: AGENTS }, (_, index) => createAgent(`waiter-${index}`)),
    );
    const all = pollPasses(proxy, (waits) => waits === WAITERS);
    const waiting = agents.map((agent) =>
      Array.from({ length: WAITERS_OF_EACH }, () => waitInInbox(own, agent))
    );
    await all;
    proxy.passed.length = 0;
    const startedAt = performance.now();
    await pollPasses(proxy, () => pollsOf(proxy).length === 3);
    const seconds = (performance.now() - startedAt) / 1000;
    assert.deepEqual(pollsOf(proxy), [WAITERS, WAITERS, WAITERS]);
    assert.equal(proxy.passed.length, 3, "nothing else is asked");
    assert.ok(3 <= seconds + 1, `3 in ${seconds} s`);

    const { grant_id } = await grant(planner, artifact, { to: agents[0]! });
    for (const { answer } of waiting[0]!) {
      assert.equal((await answer).body.grants[0]?.grant_id, grant_id);
    }
    for (const { abort } of waiting.flat()) abort();
    // Polling continues until the function has noticed all these disconnects.
    await askUntil((passed) => passed === 0, () => passesWithin(proxy, 1500));
    assert.equal(await passesWithin(proxy, 2500), 0, "nobody waits");
    for (const { id } of agents) await operatorRpc("revoke_agent_keys", { agent_id: id });
  },
);

artifactTest(
  "a request that waits and goes away → forgotten; the others wait on",
  async ({ planner, builder, stranger }) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    const both = pollPasses(proxy, (waits) => waits === 2);
    const [goes, stays] = [waitInInbox(own, stranger), waitInInbox(own, builder)];
    await both;
    goes.abort();
    await pollPasses(proxy, (waits) => waits === 1);
    const { grant_id } = await grant(planner, await publish(planner), { to: builder });
    assert.equal((await stays.answer).body.grants[0]?.grant_id, grant_id);
    const counted =
      proxy.passed.filter(({ path }) => path.endsWith("/agent_api_list_inbox")).length;
    assert.equal(counted, 3, "nothing is asked for who went away");
  },
);

artifactTest(
  "a function that is told to end → its waiting requests are answered before it does",
  async ({ builder, stranger }) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    const both = pollPasses(proxy, (waits) => waits === 2);
    const waiting = [waitInInbox(own, builder), waitInInbox(own, stranger)];
    await both;
    const stopped = own.process.stop();
    for (const request of waiting) await assertEmpty(request);
    await stopped;
    assert.notEqual(await own.process.ended, "signal SIGKILL", "it ended by itself");
  },
);

artifactTest(
  "polls that fail for a while → waiting requests go on waiting, and are answered afterwards",
  async ({ planner, builder }) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    const waits = pollPasses(proxy, (waits) => waits === 1);
    const { answer } = waitInInbox(own, builder);
    await waits;
    let failures = 0;
    const failed = pollPasses(proxy, () => ++failures === 4, failing("/agent_api_find_changes"));
    const { grant_id } = await grant(planner, await publish(planner), { to: builder });
    await failed;
    const { status, body } = await answer;
    assert.equal(status, 200);
    assert.equal(body.grants[0]?.grant_id, grant_id);
  },
);

artifactTest(
  "more waits of one key than allowed at once → the oldest is answered, the others wait on",
  async ({ builder }) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    const first = pollPasses(proxy, (waits) => waits === 1);
    const oldest = waitInInbox(own, builder);
    await first;
    const full = pollPasses(proxy, (waits) => waits === 32);
    const others = Array.from({ length: 32 }, () => waitInInbox(own, builder));
    await assertEmpty(oldest);
    await full;
    for (const { abort } of others) abort();
  },
);
