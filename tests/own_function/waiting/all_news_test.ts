/** /wait beside the other waits of a process. */
import assert from "node:assert/strict";
import { artifactTest, grant, publish } from "../../conformance/artifacts.ts";
import { type Agent, createAgent, SUPABASE_URL } from "../../conformance/client.ts";
import { type OwnFunction, startOwnFunction } from "../own_function.ts";
import { startProxy } from "../proxy.ts";
import { pollPasses, pollsOf, waitInInbox } from "./waiters.ts";

interface News {
  readonly inbox?: { readonly latest: string; readonly changed: boolean };
}

/** Waits from the current positions: whatever is created from now on is new. */
async function waitForAll(own: OwnFunction, agent: Agent) {
  const [inbox_after, events_after] = await Promise.all(["/inbox", "/events"].map(async (path) => {
    const { body } = await own.post<{ latest: string }>(path, { as: agent, body: {} });
    return body.latest;
  }));
  const asked = { path: "/wait", body: { inbox_after: inbox_after!, events_after: events_after! } };
  return waitInInbox<News>(own, agent, asked);
}

artifactTest(
  "/wait and /inbox of several agents → one query a second for all of them; only the agents with news query again",
  async ({ planner, builder, stranger }) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    const others = await Promise.all(Array.from({ length: 8 }, () => createAgent("waiter")));
    const artifact = await publish(planner);
    const all = pollPasses(proxy, (waits) => waits === others.length + 2);
    const told = await waitForAll(own, builder);
    const waiting = [
      ...await Promise.all(others.map((agent) => waitForAll(own, agent))),
      waitInInbox(own, stranger),
    ];
    await all;
    proxy.passed.length = 0;
    await pollPasses(proxy, () => pollsOf(proxy).length === 3);
    assert.equal(proxy.passed.length, 3, "nothing else is asked");
    await grant(planner, artifact, { to: builder });
    assert.equal((await told.answer).status, 200);
    const asked = proxy.passed.filter(({ path }) => path.endsWith("/agent_api_read_news"));
    assert.equal(asked.length, 1);
    for (const { abort } of waiting) abort();
  },
);

artifactTest(
  "/wait at a function that is told to end → answered before it does, with nothing new",
  async ({ builder }) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    const one = pollPasses(proxy, (waits) => waits === 1);
    const { answer } = await waitForAll(own, builder);
    await one;
    const stopped = own.process.stop();
    const { status, body } = await answer;
    assert.equal(status, 200);
    assert.equal(body.inbox?.changed, false);
    await stopped;
  },
);
