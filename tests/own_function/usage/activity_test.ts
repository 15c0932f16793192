import assert from "node:assert/strict";
import { askUntil } from "../../conformance/ask_until.ts";
import { headersOf } from "../../conformance/client.ts";
import { type OwnFunction, startOwnFunction } from "../own_function.ts";

/** The counters of GET /metrics whose names begin with `prefix`, by series. */
async function countersOf(own: OwnFunction, prefix: string): Promise<Map<string, number>> {
  const response = await fetch(`${own.process.url}/agent-mesh/metrics`, {
    headers: headersOf("operator"),
  });
  assert.equal(response.status, 200);
  const lines = (await response.text()).split("\n").filter((line) => line.startsWith(prefix));
  return new Map(lines.map((line) => {
    const [series, value] = line.split(" ");
    return [series!, Number(value)];
  }));
}

Deno.test("two processes that are scraped in turns → what was recorded is the same of both, has what both did, and never falls", async () => {
  const start = () =>
    startOwnFunction({ name: "agent-mesh", environment: { USAGE_WRITE_SECONDS: "1" } });
  await using one = await start();
  await using other = await start();
  const refusals = 'agent_recorded_errors_total{code="unauthenticated"}';
  let before = await countersOf(one, "agent_recorded_");
  const first = before.get(refusals)!;
  for (let asked = 0; asked < 20; asked++) {
    await (asked < 15 ? one : other).post("/netmap", { as: "nobody", body: {} });
  }
  let scrapes = 0;
  await askUntil(
    (count) => count >= first + 20,
    async () => {
      const now = await countersOf(scrapes++ % 2 === 0 ? one : other, "agent_recorded_");
      for (const [series, value] of before) assert.ok(now.get(series)! >= value, series);
      before = now;
      return now.get(refusals)!;
    },
  );
  const ofOne = await countersOf(one, "agent_errors_total");
  const ofOther = await countersOf(other, "agent_errors_total");
  assert.deepEqual(
    [ofOne, ofOther].map((counters) => counters.get('agent_errors_total{code="unauthenticated"}')),
    [15, 5],
  );
});
