import assert from "node:assert/strict";
import { artifactTest, givenGrants, grant, publish } from "../conformance/artifacts.ts";
import { headersOf, SECRET_KEY } from "../conformance/client.ts";
import { withStackDatabase } from "../database/connection.ts";
import { cardsOf } from "../operations/cards.ts";
import { startOwnFunction } from "./own_function.ts";

/** Paths of both functions that are no operations. */
const OTHER_PATHS = ["/whoami", "/metrics", "/openapi.json", "/mcp", "/no/such/path"];

for (const name of ["agent-artifacts", "agent-mesh"] as const) {
  artifactTest(
    `${name} with MAINTENANCE=true → every path is 503 maintenance with retry-after, to an agent, to a stranger and to a wrong key; nothing is written; /health and the operator are served`,
    async ({ planner }) => {
      const { token } = await grant(planner, await publish(planner), {});
      await using own = await startOwnFunction({ name, environment: { MAINTENANCE: "true" } });
      const url = `${own.process.url}/${name}`;
      const newest = () =>
        withStackDatabase((sql) =>
          sql`select count(*) from agents.events
            where ${planner.id} in (actor_agent_id, subject_agent_id, other_agent_id)`
        );
      const before = await newest();
      const paths = cardsOf(name).map(([path]) => path);
      const callers: Record<string, string>[] = [
        headersOf(planner),
        {},
        { authorization: `Bearer ak_${"0".repeat(64)}` },
        { apikey: SECRET_KEY, authorization: "Bearer nonsense" },
      ];
      for (const headers of callers) {
        for (const path of [...paths, ...OTHER_PATHS, `/d/${token}`]) {
          for (const method of ["POST", "GET"]) {
            const body = method === "POST" ? { body: JSON.stringify({}) } : {};
            const response = await fetch(url + path, { method, headers, ...body });
            const { error } = await response.json();
            assert.deepEqual(
              [response.status, error.code, error.retryable, response.headers.get("retry-after")],
              [503, "maintenance", true, "30"],
              `${method} ${path}`,
            );
            assert.ok(response.headers.get("x-request-id"), path);
          }
        }
      }
      assert.deepEqual(await newest(), before);

      const health = await fetch(`${url}/health`);
      assert.deepEqual([health.status, await health.json()], [200, { status: "ok" }]);
      for (const path of ["/whoami", "/metrics"]) {
        const response = await fetch(url + path, { headers: { apikey: SECRET_KEY } });
        assert.equal(response.status, 200, await response.text());
      }
      const events = await fetch(`${url}/events`, {
        method: "POST",
        headers: { apikey: SECRET_KEY },
        body: JSON.stringify({ agent_id: planner.id }),
      });
      assert.equal(events.status, 200, await events.text());
      const preflight = await fetch(`${url}/list`, { method: "OPTIONS" });
      assert.equal(preflight.status, 204);
    },
  );

  Deno.test(`${name} with MAINTENANCE=true: /token → temporarily_unavailable, as RFC 6749 says it`, async () => {
    await using own = await startOwnFunction({ name, environment: { MAINTENANCE: "true" } });
    const response = await fetch(`${own.process.url}/${name}/token`, {
      method: "POST",
      body: new URLSearchParams({ grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer" }),
    });
    assert.deepEqual([response.status, response.headers.get("retry-after")], [503, "30"]);
    assert.equal((await response.json()).error, "temporarily_unavailable");
  });
}

artifactTest(
  "agent-artifacts with MAINTENANCE=true: a person opens a link → the page says to come back, and counts nothing",
  async ({ planner }) => {
    const { token } = await grant(planner, await publish(planner), { max_downloads: 1 });
    const environment = { MAINTENANCE: "true" };
    await using own = await startOwnFunction({ name: "agent-artifacts", environment });
    const response = await fetch(`${own.process.url}/agent-artifacts/d/${token}`, {
      headers: { accept: "text/html" },
    });
    assert.equal(response.status, 503);
    assert.match(await response.text(), /The service is closed for a short time/);
    const { grants } = await givenGrants(planner);
    assert.equal(grants[0]!.downloads, 0);
  },
);
