import assert from "node:assert/strict";
import { type Answer, assertError, headersOf, SUPABASE_URL } from "../../conformance/client.ts";
import { artifactTest } from "../../conformance/artifacts.ts";
import { type OwnFunction, startOwnFunction } from "../own_function.ts";
import { startProxy } from "../proxy.ts";

/** GETs a path as a gateway for these addresses would forward it. */
async function get(
  own: OwnFunction,
  path: string,
  forwardedFor: string,
  headers: Record<string, string> = {},
): Promise<Answer<unknown>> {
  const response = await fetch(`${own.process.url}/agent-artifacts${path}`, {
    headers: { "x-forwarded-for": forwardedFor, ...headers },
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

artifactTest(
  "/openapi.json and /health more often than a minute's limit of one address → 429, no call of the database; others, agents and the operator go on",
  async ({ planner }) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({
      supabaseUrl: proxy.url,
      // The next request is allowed after 30 seconds, which is after this test has ended.
      environment: { RATE_LIMIT_ANONYMOUS_PER_MINUTE: "2" },
    });
    assert.equal((await get(own, "/openapi.json", "192.0.2.7")).status, 200);
    assert.equal((await get(own, "/health", "192.0.2.7")).status, 200);
    proxy.passed.length = 0;
    for (const path of ["/openapi.json", "/health"]) {
      for (const forwardedFor of ["192.0.2.7", "198.51.100.1, 192.0.2.7"]) {
        const answer = await get(own, path, forwardedFor);
        assert.deepEqual(assertError(answer, 429, "rate_limited"), {
          limit: "requests_per_minute",
          maximum: 2,
        });
        assert.match(answer.headers.get("retry-after") ?? "", /^[1-9][0-9]*$/);
      }
    }
    assert.equal(proxy.passed.length, 0);

    // The claimed address has lost nothing of its own limit.
    assert.equal((await get(own, "/openapi.json", "198.51.100.1")).status, 200);
    for (let time = 0; time < 4; time++) {
      const { status } = await get(own, "/health", "192.0.2.7", headersOf("operator"));
      assert.equal(status, 200);
      const list = await own.post("/list", {
        as: { headers: { "x-forwarded-for": "192.0.2.7", ...headersOf(planner) } },
        body: { agent_id: planner.id },
      });
      assert.equal(list.status, 200);
    }
  },
);
