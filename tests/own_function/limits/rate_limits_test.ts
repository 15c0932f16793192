import assert from "node:assert/strict";
import {
  type Agent,
  type Answer,
  assertError,
  headersOf,
  type Sender,
  SUPABASE_URL,
} from "../../conformance/client.ts";
import { artifactTest, grant, publish } from "../../conformance/artifacts.ts";
import { askUntil } from "../../conformance/ask_until.ts";
import { type OwnFunction, startOwnFunction } from "../own_function.ts";
import { failing, gate, holding, type Proxy, startProxy } from "../proxy.ts";

function list(own: OwnFunction, as: Sender, agent: Agent): Promise<Answer<unknown>> {
  return own.post("/list", { as, body: { agent_id: agent.id } });
}

function assertRateLimited(answer: Answer<unknown>, limit: string, maximum: number): void {
  assert.deepEqual(assertError(answer, 429, "rate_limited"), { limit, maximum });
  assert.match(answer.headers.get("retry-after") ?? "", /^[1-9][0-9]*$/);
}

artifactTest(
  "/list, /whoami and /mcp more often than a minute's limit → 429 before the body is looked at, no call of the database; others and the operator go on",
  async ({ planner, builder }) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({
      supabaseUrl: proxy.url,
      // The next request is allowed after 30 seconds, which is after this test has ended.
      environment: { RATE_LIMIT_REQUESTS_PER_MINUTE: "2" },
    });
    assert.equal((await list(own, planner, planner)).status, 200);
    assertError(await list(own, planner, builder), 403, "forbidden");
    proxy.passed.length = 0;
    assertRateLimited(await list(own, planner, planner), "requests_per_minute", 2);
    assertRateLimited(
      await own.post("/list", { as: planner, body: "no object" }),
      "requests_per_minute",
      2,
    );
    for (const ask of [{ path: "/whoami" }, { path: "/mcp", method: "POST", body: "{}" }]) {
      const { path, ...init } = ask;
      const answer = await fetch(`${own.process.url}/agent-artifacts${path}`, {
        ...init,
        headers: headersOf(planner),
      });
      assert.equal(answer.status, 429);
      assert.equal((await answer.json()).error.code, "rate_limited");
    }
    assert.equal(proxy.passed.length, 0);

    assert.equal((await list(own, builder, builder)).status, 200);
    for (let time = 0; time < 4; time++) {
      assert.equal((await list(own, "operator", planner)).status, 200);
    }
    assertError(await list(own, "nobody", planner), 401, "unauthenticated");
  },
);

artifactTest(
  "/list after a minute's limit was used up → 200 again as time passes",
  async ({ planner }) => {
    await using own = await startOwnFunction({
      environment: { RATE_LIMIT_REQUESTS_PER_MINUTE: "30" },
    });
    // Ten more requests than the limit per minute. The limit allows ten more every 20 seconds.
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => list(own, planner, planner)),
    );
    const refused = answers.filter(({ status }) => status === 429);
    assert.ok(refused.length > 0);
    for (const { headers } of refused) assert.match(headers.get("retry-after")!, /^[12]$/);
    await askUntil(({ status }) => status === 200, () => list(own, planner, planner));
  },
);

artifactTest(
  "/fetch more often than a minute's limit → 429 for that token; another token goes on",
  async ({ planner, builder }) => {
    await using own = await startOwnFunction({
      environment: { RATE_LIMIT_REQUESTS_PER_MINUTE: "1" },
    });
    const artifact = await publish(planner);
    const fetchBy = (grant_token: string) =>
      own.post("/fetch", { as: "nobody", body: { grant_token } });
    const [one, another] = await Promise.all([
      grant(planner, artifact, { to: builder }),
      grant(planner, artifact, { to: builder }),
    ]);
    assert.equal((await fetchBy(one.token)).status, 200);
    assertRateLimited(await fetchBy(one.token), "requests_per_minute", 1);
    assert.equal((await fetchBy(another.token)).status, 200);
  },
);

/** A function that allows a caller two requests at once, behind a proxy. */
async function startWithTwoAtOnce(): Promise<{ own: OwnFunction; proxy: Proxy }> {
  const proxy = startProxy(SUPABASE_URL);
  const own = await startOwnFunction({
    supabaseUrl: proxy.url,
    environment: { RATE_LIMIT_REQUESTS_AT_ONCE: "2" },
  });
  return { own, proxy };
}

artifactTest(
  "/list while two requests of the key are under way → 429; others and the operator go on; 200 after one",
  async ({ planner, builder }) => {
    const { own, proxy } = await startWithTwoAtOnce();
    await using _own = own;
    await using _proxy = proxy;
    const [first, second] = [gate(), gate()];
    proxy.intercept(holding("/rpc/agent_api_list_artifacts", first));
    const held = [list(own, planner, planner)];
    await first.arrived;
    proxy.intercept(holding("/rpc/agent_api_list_artifacts", second));
    held.push(list(own, planner, planner));
    await second.arrived;

    proxy.letPass();
    assertRateLimited(await list(own, planner, planner), "requests_at_once", 2);
    assert.equal((await list(own, builder, builder)).status, 200);
    assert.equal((await list(own, "operator", planner)).status, 200);
    first.open();
    assert.equal((await held[0]!).status, 200);
    await askUntil(({ status }) => status === 200, () => list(own, planner, planner));
    second.open();
    assert.equal((await held[1]!).status, 200);
  },
);

artifactTest(
  "requests that end in an error, or whose sender goes away → their places are free again",
  async ({ planner, builder }) => {
    const { own, proxy } = await startWithTwoAtOnce();
    await using _own = own;
    await using _proxy = proxy;
    proxy.intercept(failing("/rpc/agent_api_list_artifacts"));
    for (let time = 0; time < 3; time++) {
      assertError(await list(own, planner, planner), 503, "upstream_unavailable");
    }
    for (const body of [{}, "no object", { agent_id: builder.id }]) {
      proxy.letPass();
      const { status } = await own.post("/list", { as: planner, body });
      assert.ok([200, 403, 422, 400].includes(status), String(status));
    }

    const held = gate();
    proxy.intercept(holding("/rpc/agent_api_list_artifacts", held));
    const sender = new AbortController();
    const gone = Array.from({ length: 2 }, () =>
      fetch(`${own.process.url}/agent-artifacts/list`, {
        method: "POST",
        headers: { authorization: `Bearer ${planner.key}` },
        body: JSON.stringify({ agent_id: planner.id }),
        signal: sender.signal,
      }));
    await held.arrived;
    sender.abort();
    for (const request of gone) await assert.rejects(request, { name: "AbortError" });
    held.open();
    proxy.letPass();
    // Both places are free again when the function has noticed that both callers are gone.
    await askUntil(
      (both) => both.every(({ status }) => status === 200),
      () => Promise.all([list(own, planner, planner), list(own, planner, planner)]),
    );
  },
);
