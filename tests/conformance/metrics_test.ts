import assert from "node:assert/strict";
import { artifactTest, grant, publish } from "./artifacts.ts";
import { type Agent, assertError, fetchDescribed, headersOf, send, type Sender } from "./client.ts";
import { take, tell } from "./tasks/tasks.ts";

const FUNCTIONS = ["agent-artifacts", "agent-mesh"];

/** The value of a sample of GET /metrics; `sample` is its name with its labels. */
async function sampleOf(name: string, sample: string): Promise<number> {
  const response = await fetchDescribed(`/${name}/metrics`, { headers: headersOf("operator") });
  assert.equal(response.status, 200);
  const line = (await response.text()).split("\n").find((line) => line.startsWith(`${sample} `));
  assert.ok(line, `no ${sample}`);
  return Number(line.slice(sample.length + 1));
}

function refusalOf(name: string, as: Sender) {
  return send(`/${name}/metrics`, { headers: headersOf(as) });
}

for (const name of FUNCTIONS) {
  artifactTest(
    `GET /${name}/metrics of nobody and by an unknown key → 401; of an agent → 403; by POST → 405`,
    async ({ planner }) => {
      const unknown: Agent = { ...planner, key: `ak_${"0".repeat(64)}` };
      assertError(await refusalOf(name, "nobody"), 401, "unauthenticated");
      assertError(await refusalOf(name, unknown), 401, "unauthenticated");
      assertError(await refusalOf(name, planner), 403, "forbidden");
      const posted = await send(`/${name}/metrics`, {
        method: "POST",
        headers: headersOf("operator"),
      });
      assertError(posted, 405, "method_not_allowed");
    },
  );

  Deno.test(`GET /${name}/metrics of the operator → 200, Prometheus' text with every family once`, async () => {
    const response = await fetchDescribed(`/${name}/metrics`, { headers: headersOf("operator") });
    assert.equal(response.status, 200);
    assert.equal(
      response.headers.get("content-type"),
      "text/plain; version=0.0.4; charset=utf-8",
    );
    const lines = (await response.text()).trimEnd().split("\n");
    const families = lines.filter((line) => line.startsWith("# TYPE ")).map((line) =>
      line.split(" ")[2]!
    );
    assert.equal(new Set(families).size, families.length);
    assert.ok(families.includes("agent_build_info"));
    const sample = /^[a-z_]+(?:\{(?:[a-z_]+="[^"]*",?)+\})? -?[0-9.e+]+$/;
    assert.deepEqual(lines.filter((line) => !line.startsWith("# ") && !sample.test(line)), []);
  });
}

artifactTest(
  "GET /agent-artifacts/metrics while a task is parked → counts it",
  async ({ planner, builder }) => {
    await grant(planner, await publish(planner), { to: builder });
    const [task] = await take(builder);
    await tell(builder, "fail", { take_id: task!.take_id, reason: "No roof.", final: true });
    // Other tests may park some, too.
    assert.ok(await sampleOf("agent-artifacts", "agent_artifacts_parked_tasks") >= 1);
  },
);

artifactTest(
  "GET /agent-artifacts/metrics after a commit and a grant → more artifacts, bytes and events",
  async ({ planner }) => {
    const samples = [
      'agent_artifacts{state="committed"}',
      'agent_artifacts_bytes{state="committed"}',
      "agent_events_written_total",
    ];
    const readAll = () => Promise.all(samples.map((sample) => sampleOf("agent-artifacts", sample)));
    const before = await readAll();
    await publish(planner);
    const after = await readAll();
    // Only the event counter must rise: other tests may remove artifacts meanwhile.
    assert.ok(after[2]! > before[2]!, `${before} → ${after}`);
    assert.ok(after.every((value) => value > 0));
  },
);
