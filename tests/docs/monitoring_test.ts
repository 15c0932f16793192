import assert from "node:assert/strict";
import { appendFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runProgram } from "../../packages/local/processes/run_program.ts";
import { artifactTest, publish } from "../conformance/artifacts.ts";
import { assertError, fetchDescribed, headersOf, post, SECRET_KEY } from "../conformance/client.ts";
import { isLeftOutWithout } from "../left_out.ts";
import { startOwnFunction } from "../own_function/own_function.ts";
import { documentedBlock, readPage } from "./blocks/documentation.ts";
import { filledIn } from "./blocks/placeholders.ts";
import { Terminal } from "./blocks/terminal.ts";

const PAGE = "docs/monitoring.md";
const ignore = await isLeftOutWithout("promtool", "Metrics and alerts are");

/** Fails unless promtool accepts `input`. */
async function assertPasses(args: readonly string[], input = ""): Promise<void> {
  const { code, output, errors } = await runProgram("promtool", { args: [...args], input });
  assert.equal(code, 0, output + errors);
  if (args[1] === "metrics") assert.equal(output + errors, "");
}

async function metricsOf(name: string): Promise<string> {
  const response = await fetchDescribed(`/${name}/metrics`, { headers: headersOf("operator") });
  assert.equal(response.status, 200);
  return await response.text();
}

for (const name of ["agent-artifacts", "agent-mesh"]) {
  Deno.test({
    name: `promtool check metrics of GET /${name}/metrics → nothing to say`,
    ignore,
    async fn() {
      // Some families have samples only after a first request.
      await metricsOf(name);
      await assertPasses(["check", "metrics"], await metricsOf(name));
    },
  });
}

Deno.test({
  name:
    `${PAGE}, Prometheus → a configuration and rules that promtool takes; no rule asks for a metric that there is not`,
  ignore,
  async fn() {
    await using terminal = await Terminal.open();
    const configuration = join(terminal.home, "prometheus.yml");
    const scrapes = filledIn(await documentedBlock("docs/monitoring.md, Prometheus, 1"));
    const older = filledIn(await documentedBlock("docs/monitoring.md, Prometheus, 2"));
    // Debian's promtool is too old for custom headers.
    assert.equal(
      scrapes.replaceAll(
        /http_headers:\n +apikey:\n +files: \[(\S+)\]/g,
        "authorization:\n      credentials_file: $1",
      ),
      older,
    );
    await writeFile(configuration, older);
    await assertPasses(["check", "config", "--syntax-only", configuration]);

    const rules = join(terminal.home, "rules.yml");
    const alerts = await documentedBlock("docs/monitoring.md, Prometheus, 3");
    await writeFile(rules, alerts);
    await assertPasses(["check", "rules", rules]);
    assert.equal(alerts.match(/- alert:/g)?.length, 8);
    const described = await readPage(PAGE);
    const asked = alerts.match(/\bagent_[a-z_]+/g) ?? [];
    assert.ok(asked.length >= 6);
    for (const metric of asked) {
      assert.ok(described.includes(`| \`${metric.replace(/_count$/, "")}`), metric);
    }
  },
});

Deno.test(`${PAGE}, Prometheus before 2.55 → the secret key as a bearer token gets the metrics`, async () => {
  for (const name of ["agent-artifacts", "agent-mesh"]) {
    const response = await fetchDescribed(`/${name}/metrics`, {
      headers: { authorization: `Bearer ${SECRET_KEY}` },
    });
    assert.equal(response.status, 200);
    assert.match(await response.text(), /^agent_recorded_requests_total \d+$/m);
  }
});

artifactTest(
  `${PAGE}, the tables of metrics → every family that the functions answer with, and no other`,
  async ({ planner }) => {
    await publish(planner);
    // Causes an error, so that the family of errors has a sample.
    assertError(await post("/agent-artifacts/list", { as: "nobody" }), 401, "unauthenticated");
    const rows = (await readPage(PAGE)).matchAll(/^\| `((?:agent_(?!id)|process_)[a-z_]+)/gm);
    const described = new Set(Array.from(rows, ([, name]) => name!));
    const texts = await Promise.all(["agent-artifacts", "agent-mesh"].map(metricsOf));
    const answered = texts.flatMap((text) =>
      Array.from(text.matchAll(/^# TYPE (\S+)/gm), ([, name]) => name!)
    );
    assert.deepEqual(answered.filter((name) => !described.has(name)), []);
    // These families are missing on a stack whose mesh, sweep or webhooks have done nothing yet.
    const mayBeMissing = [
      "agent_artifacts_sweep_backlog_oldest_timestamp_seconds",
      "agent_artifacts_sweep_last_run_timestamp_seconds",
      "agent_mesh_psks",
      "agent_mesh_psks_oldest_timestamp_seconds",
      "agent_webhook_deliveries_due_timestamp_seconds",
    ];
    assert.deepEqual(
      [...described].filter((name) => !answered.includes(name) && !mayBeMissing.includes(name)),
      [],
    );
  },
);

Deno.test(`${PAGE}, Metrics → the numbers of agent-mesh`, async () => {
  await using terminal = await Terminal.open();
  const printed = await terminal.paste(
    filledIn(await documentedBlock("docs/monitoring.md, Metrics, 1")),
  );
  assert.match(printed, /^agent_mesh_rules\{state="active"\} \d+$/m);
});

artifactTest(
  `${PAGE}, The log → each question is answered by its jq`,
  async ({ planner, builder }) => {
    await using own = await startOwnFunction();
    const { artifact_id } = await publish(planner);
    await own.post("/open", { as: planner, body: { artifact_id } });
    await own.post("/open", { as: builder, body: { artifact_id } });
    const { headers } = await own.post("/list", { as: builder, body: { agent_id: planner.id } });
    const requestId = headers.get("x-request-id")!;

    await using terminal = await Terminal.open({ environment: { STATE_DIR: "state" } });
    const logs = join(terminal.home, "state", "logs");
    await mkdir(logs, { recursive: true });
    const copy = join(logs, "agent-artifacts.log");
    await writeFile(copy, `Deno says something.\n${await Deno.readTextFile(own.logFile)}`);
    const failure = {
      time: "2026-01-31T09:30:00.000Z",
      request_id: "failed",
      function: "agent-artifacts",
      path: "/commit",
      status: 503,
      duration_ms: 10_000,
      error: "upstream_unavailable",
      cause: "TimeoutError",
      upstream: [
        { name: "begin_commit", status: 200, duration_ms: 3 },
        { name: "object/move", status: 0, duration_ms: 9990 },
      ],
    };
    await appendFile(copy, `${JSON.stringify(failure)}\n`);
    await terminal.paste(await documentedBlock("docs/monitoring.md, The log, 1"));

    const request = (await documentedBlock("docs/monitoring.md, The log, 3"))
      .replace("<request_id>", requestId);
    const line = JSON.parse(await terminal.paste(request));
    assert.deepEqual([line.path, line.error, line.agent_id], ["/list", "forbidden", undefined]);

    const artifact = (await documentedBlock("docs/monitoring.md, The log, 5"))
      .replace("<artifact_id>", artifact_id);
    const touches = (await terminal.paste(artifact)).trim().split("\n").map((row) =>
      row.split("\t").slice(1)
    );
    assert.deepEqual(touches, [[planner.id, "/open", "200"], ["agent", "/open", "404"]]);

    const refused = JSON.parse(
      await terminal.paste(await documentedBlock("docs/monitoring.md, The log, 7")),
    );
    assert.deepEqual(
      refused.map(({ error, requests }: { error: string; requests: number }) => [error, requests])
        .sort(),
      [["artifact_not_found", 1], ["forbidden", 1]],
    );

    const slow = JSON.parse(
      await terminal.paste(await documentedBlock("docs/monitoring.md, The log, 9")),
    );
    assert.equal(slow[0].path, "/commit");
    assert.deepEqual([slow[0].p50, slow[0].p99], [10_000, 10_000]);

    const failed = JSON.parse(
      await terminal.paste(await documentedBlock("docs/monitoring.md, The log, 11")),
    );
    assert.deepEqual(failed.failed, [{ name: "object/move", status: 0, duration_ms: 9990 }]);
  },
);
