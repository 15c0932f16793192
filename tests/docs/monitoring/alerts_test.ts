import assert from "node:assert/strict";
import { isLeftOutWithout } from "../../left_out.ts";
import {
  type AllSeries,
  documentedRules,
  type ExpectedAlert,
  namesOfAlerts,
  testRules,
} from "./promtool.ts";
import { HELD, isolatesInTurns, JOBS, ordinarySeries } from "./quiet_day.ts";

const ignore = await isLeftOutWithout("promtool", "Alerts are");
const DAY = 24 * 60;
// Minutes: when the cause begins, and the length of the series.
const BEGINS = 60;
const LASTS = 180;

/** Expects no alert, every `step` minutes. */
function nothing(alerts: readonly string[], minutes: number, step = 15): ExpectedAlert[] {
  return Array.from({ length: Math.floor(minutes / step) }, (_, index) => (index + 1) * step)
    .flatMap((minute) => alerts.map((alert) => ({ alert, minute, firing: [] })));
}

Deno.test({
  name: "two isolates in turns over a day of ordinary work → no alert at all",
  ignore,
  async fn() {
    const rules = await documentedRules();
    const series = { ...ordinarySeries(DAY), ...isolatesInTurns(DAY) };
    const alerts = namesOfAlerts(rules);
    assert.equal(alerts.length, 8);
    assert.equal(await testRules(rules, series, nothing(alerts, DAY)), null);
  },
});

Deno.test({
  name: "the same day, by the counters of one process → alerts where nothing happened",
  ignore,
  async fn() {
    const rules = (await documentedRules())
      .replaceAll("agent_recorded_errors_total", "agent_errors_total")
      .replaceAll("agent_recorded_upstream_failures_total", "agent_upstream_call_failures_total")
      .replaceAll(
        "agent_recorded_upstream_calls_total",
        "agent_upstream_call_duration_seconds_count",
      );
    const series = { ...ordinarySeries(DAY), ...isolatesInTurns(DAY) };
    for (const alert of ["AgentProbing", "AgentUpstreamFails"]) {
      const firing = JOBS.map((job) => ({ job }));
      assert.equal(await testRules(rules, series, [{ alert, minute: 600, firing }]), null, alert);
    }
  },
});

interface Cause {
  readonly alert: string;
  readonly cause: string;
  /** The values from `BEGINS` on, by series. Null: the series ends. */
  readonly change: Readonly<
    Record<string, (minute: number, before: number | null) => number | null>
  >;
  /** The minutes after which the alert must fire. */
  readonly after: number;
  readonly labels: Readonly<Record<string, string>>;
}

const ARTIFACTS = '{job="agent-artifacts"}';
const MESH = '{job="agent-mesh"}';

const CAUSES: readonly Cause[] = [
  {
    alert: "AgentFunctionDown",
    cause: "a function does not answer",
    change: { [`up${MESH}`]: () => 0 },
    after: 10,
    labels: { job: "agent-mesh" },
  },
  {
    alert: "AgentUpstreamFails",
    cause: "one call in ten fails",
    change: {
      [`agent_recorded_upstream_failures_total${ARTIFACTS}`]: (minute, before) =>
        before! + 6 * (minute - BEGINS),
    },
    after: 25,
    labels: { job: "agent-artifacts" },
  },
  {
    alert: "AgentSweepStopped",
    cause: "no sweep comes to its end",
    change: {
      [`agent_artifacts_sweep_last_run_timestamp_seconds${ARTIFACTS}`]: () => 60 * BEGINS,
    },
    after: 100,
    labels: { job: "agent-artifacts" },
  },
  {
    alert: "AgentSweepStopped",
    cause: "there never was a sweep",
    change: { [`agent_artifacts_sweep_last_run_timestamp_seconds${ARTIFACTS}`]: () => null },
    after: 45,
    labels: {},
  },
  {
    alert: "AgentHostBehind",
    cause: "a host keeps an old configuration",
    change: { [`agent_mesh_peers_behind${MESH}`]: () => 1 },
    after: 20,
    labels: { job: "agent-mesh" },
  },
  {
    alert: "AgentProbing",
    cause: "somebody tries a key that ended, ten times a minute",
    change: {
      [`agent_recorded_errors_total{job="agent-mesh",code="unauthenticated"}`]: (minute, before) =>
        before! + 10 * (minute - BEGINS),
    },
    after: 20,
    labels: { job: "agent-mesh" },
  },
  {
    alert: "AgentLogHeld",
    cause: "a session keeps a transaction open that has written something",
    change: { [HELD]: (minute) => 60 * (minute - BEGINS) },
    after: 5,
    labels: {
      job: "agent-artifacts",
      pid: "4711",
      application_name: "import",
      state: "idle in transaction",
    },
  },
  {
    alert: "AgentKeysExpire",
    cause: "the last key of two agents expires within a week",
    change: { [`agent_keys_expiring${ARTIFACTS}`]: () => 2 },
    after: 20,
    labels: { job: "agent-artifacts" },
  },
  {
    alert: "AgentDatabaseLarge",
    cause: "the database has 7 GB",
    change: { [`agent_database_bytes${ARTIFACTS}`]: () => 7e9 },
    after: 20,
    labels: { job: "agent-artifacts" },
  },
];

/** Ordinary series with the cause in them, while isolates take turns. */
function seriesWith({ change }: Cause): AllSeries {
  const series = { ...ordinarySeries(LASTS), ...isolatesInTurns(LASTS) };
  for (const [name, next] of Object.entries(change)) {
    assert.ok(series[name] !== undefined, name);
    series[name] = series[name].map((value, minute) =>
      minute < BEGINS ? value : next(minute, value)
    );
  }
  return series;
}

for (const cause of CAUSES) {
  Deno.test({
    name: `${cause.cause} → ${cause.alert}, and no other alert`,
    ignore,
    async fn() {
      const rules = await documentedRules();
      const others = namesOfAlerts(rules).filter((name) => name !== cause.alert);
      assert.equal(
        await testRules(rules, seriesWith(cause), [
          { alert: cause.alert, minute: BEGINS - 1, firing: [] },
          { alert: cause.alert, minute: BEGINS + cause.after, firing: [cause.labels] },
          ...nothing(others, LASTS),
        ]),
        null,
      );
    },
  });
}

Deno.test("every alert has a cause that a test makes", async () => {
  const alerts = namesOfAlerts(await documentedRules());
  assert.deepEqual(alerts.filter((name) => !CAUSES.some(({ alert }) => alert === name)), []);
});
