import assert from "node:assert/strict";
import type { Flow, FlowReason } from "../../mesh/flows/flow.ts";
import { FlowLog, MOST_FLOWS } from "../../mesh/flows/flow_log.ts";
import { MOST_KINDS } from "../../mesh/flows/refusals.ts";

const BUILDER = { agentId: "builder-1", name: "builder" };

const refusal = (port: number, reason: FlowReason = "no_rule") =>
  ({ proto: "tcp", direction: "in", peer: BUILDER, port, reason }) as const;

/** A log, and what it tells. */
function loggedFlows() {
  const told: Flow[] = [];
  return { told, log: new FlowLog((flow) => told.push(flow)) };
}

Deno.test("a connection → open with its bytes so far, then told once with its end", () => {
  const { log, told } = loggedFlows();
  const flow = log.opened({ proto: "tcp", direction: "out", peer: BUILDER, port: 443 });
  flow.received(3);
  flow.sent(5);
  const [open] = log.all();
  assert.deepEqual(
    [open?.end, open?.endedAt, open?.receivedBytes, open?.sentBytes],
    [null, null, 3, 5],
  );
  flow.sent(1);
  flow.ended("reset", "by_peer");
  flow.ended("clean", null);
  assert.equal(open?.sentBytes, 5, "what was told does not change");
  assert.equal(told.length, 1);
  assert.deepEqual(log.all(), told);
  const { startedAt, endedAt, ...rest } = told[0]!;
  assert.ok(startedAt <= endedAt!);
  assert.deepEqual(rest, {
    ...BUILDER,
    proto: "tcp",
    direction: "out",
    port: 443,
    receivedBytes: 3,
    sentBytes: 6,
    end: "reset",
    reason: "by_peer",
    count: 1,
  });
});

Deno.test("more connections than a log remembers → the newest are there, every one was told", () => {
  const { log, told } = loggedFlows();
  for (let port = 1; port <= 5 * MOST_FLOWS; port++) {
    log.opened({ proto: "tcp", direction: "in", peer: BUILDER, port }).ended("clean", null);
  }
  assert.equal(told.length, 5 * MOST_FLOWS);
  const ports = log.all().map(({ port }) => port);
  assert.deepEqual(ports, Array.from({ length: MOST_FLOWS }, (_, at) => 4 * MOST_FLOWS + at + 1));
});

Deno.test("a flood at one port → the first refusal is told at once, all others as one flow at the end", () => {
  const { log, told } = loggedFlows();
  for (let attempt = 0; attempt < 100_000; attempt++) log.refused(refusal(80));
  assert.deepEqual(told.map(({ count }) => count), [1]);
  assert.deepEqual(log.all().map(({ count }) => count), [1, 99_999], "it is there before that");
  log.close();
  assert.deepEqual(
    told.map(({ port, end, reason, count }) => [port, end, reason, count]),
    [[80, "refused", "no_rule", 1], [80, "refused", "no_rule", 99_999]],
  );
});

Deno.test("a scan of all ports by one peer → a bounded number of flows, and no attempt is missing", () => {
  const { log, told } = loggedFlows();
  for (let port = 1; port <= 65_535; port++) log.refused(refusal(port));
  log.close();
  assert.equal(told.length, MOST_KINDS + 2);
  assert.deepEqual(told.slice(MOST_KINDS).map(({ port }) => port), [null, null]);
  assert.equal(told.reduce((sum, { count }) => sum + count, 0), 65_535);
});

Deno.test("a program that asks for many hosts → a bounded number of flows, with short names", () => {
  const { log, told } = loggedFlows();
  for (let number = 0; number < 10_000; number++) {
    const peer = { agentId: null, name: `${number}-${"x".repeat(1000)}` };
    log.refused({ proto: "tcp", direction: "out", peer, port: 80, reason: "unknown_peer" });
  }
  log.close();
  assert.equal(told.length, MOST_KINDS + 2);
  for (const { name } of told) assert.ok((name ?? "").length <= 253);
  assert.equal(told.at(-1)!.name, null);
});

Deno.test("a minute later → what was counted is told, and the next refusal is a first one again", () => {
  const { setTimeout } = globalThis;
  const timers: [() => void, number][] = [];
  globalThis.setTimeout =
    ((action: () => void, after: number) =>
      timers.push([action, after])) as unknown as typeof setTimeout;
  try {
    const { log, told } = loggedFlows();
    for (let attempt = 0; attempt < 3; attempt++) log.refused(refusal(80));
    assert.deepEqual(timers.map(([, after]) => after), [60_000], "one timer for all of them");
    timers[0]![0]();
    assert.deepEqual(told.map(({ count }) => count), [1, 2]);
    log.refused(refusal(80));
    assert.deepEqual(told.map(({ count }) => count), [1, 2, 1]);
    assert.equal(timers.length, 2);
  } finally {
    globalThis.setTimeout = setTimeout;
  }
});
