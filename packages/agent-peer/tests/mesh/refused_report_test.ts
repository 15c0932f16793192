import assert from "node:assert/strict";
import type { Connection, SentRefusal } from "../../service.ts";
import type { Flow } from "../../mesh/flows/flow.ts";
import { FlowLog } from "../../mesh/flows/flow_log.ts";
import { isReportable, RefusedReport } from "../../mesh/service/refused_report.ts";

interface Sent {
  readonly path: string;
  readonly body: { readonly agent_id?: string; readonly refused: readonly SentRefusal[] };
}

/** A service, and what it was sent. `next` resolves to the next request. */
function recordingService(agentId?: string) {
  let next!: (sent: Sent) => void;
  const requests: Sent[] = [];
  let told = new Promise<Sent>((resolve) => next = resolve);
  const connection = {
    agentId,
    post(path: string, body: Sent["body"]) {
      requests.push({ path, body });
      next(requests.at(-1)!);
      told = new Promise<Sent>((resolve) => next = resolve);
      return Promise.reject(new Error("The service is away."));
    },
  } as unknown as Connection;
  return { connection, requests, next: () => told };
}

/** The flows of a log that is told of these attempts at ports. */
function refusedFlows(...ports: readonly number[]): Flow[] {
  const flows: Flow[] = [];
  const log = new FlowLog((flow) => flows.push(flow));
  for (const port of ports) {
    const peer = { agentId: "planner-1", name: "planner" };
    log.refused({ proto: "tcp", direction: "in", peer, port, reason: "no_rule" });
  }
  log.close();
  return flows;
}

Deno.test("attempts without a rule → one report with how many there were, and no second one; a failed report is not repeated", async () => {
  const { connection, requests, next } = recordingService();
  let sent = 0;
  const report = new RefusedReport(connection, {
    signal: new AbortController().signal,
    onSent: () => void (sent += 1),
    periodMs: 0,
  });
  const first = next();
  for (const flow of refusedFlows(80, 80, 80, 443)) report.add(flow);
  const planner = { agent_id: "planner-1", proto: "tcp" };
  assert.deepEqual(await first, {
    path: "/peer/heartbeat",
    body: {
      refused: [{ ...planner, port: 80, attempts: 3 }, { ...planner, port: 443, attempts: 1 }],
    },
  });
  const second = next();
  report.add(refusedFlows(22)[0]!);
  assert.deepEqual((await second).body.refused.map(({ port }) => port), [22]);
  await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual([requests.length, sent], [2, 2]);
});

Deno.test("attempts at 1,000 ports → a report of 16, and none after close()", async () => {
  const { connection, requests, next } = recordingService("builder-1");
  let sent = 0;
  const report = new RefusedReport(connection, {
    signal: new AbortController().signal,
    onSent: () => void (sent += 1),
    periodMs: 0,
  });
  const first = next();
  const [flow] = refusedFlows(80);
  for (let port = 1; port <= 1000; port++) report.add({ ...flow!, port });
  const { body } = await first;
  assert.equal(body.agent_id, "builder-1");
  assert.deepEqual(
    body.refused.map(({ port }) => port),
    Array.from({ length: 16 }, (_, at) => at + 1),
  );
  report.add(flow!);
  report.close();
  await new Promise((resolve) => setTimeout(resolve, 10));
  assert.deepEqual([requests.length, sent], [1, 1]);
});

Deno.test("isReportable() → only what a known peer tried without a rule", () => {
  const [flow] = refusedFlows(80);
  assert.equal(isReportable(flow!), true);
  const others: readonly Partial<Flow>[] = [
    { direction: "out" },
    { end: "reset" },
    { reason: "nothing_listens" },
    { agentId: null },
  ];
  for (const other of others) assert.equal(isReportable({ ...flow!, ...other }), false);
});
