import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Flow } from "../../agent-peer/mesh/flows/flow.ts";
import { FlowFile, MOST_BYTES } from "../mesh/flows/flow_file.ts";
import { reasonsOf, totalsOf } from "../mesh/flows/flow_totals.ts";

const FLOW: Flow = {
  proto: "tcp",
  direction: "in",
  agentId: "builder-1",
  name: "builder",
  port: 8080,
  startedAt: "2030-01-01T00:00:00.000Z",
  endedAt: "2030-01-01T00:00:01.000Z",
  receivedBytes: 10,
  sentBytes: 20,
  end: "clean",
  reason: null,
  count: 1,
};

const REFUSED: Flow = { ...FLOW, end: "refused", reason: "no_rule", count: 40 };

/** A folder that is removed at the end. */
async function temporary(): Promise<AsyncDisposable & { readonly file: string }> {
  const folder = await mkdtemp(join(tmpdir(), "flows-"));
  return {
    file: join(folder, "flows.jsonl"),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

const fail = (message: string) => assert.fail(message);

async function write(file: string, flows: readonly Flow[], warn: (message: string) => void = fail) {
  const log = new FlowFile(file, warn);
  for (const flow of flows) log.add(flow);
  await log.close();
}

Deno.test("a file of flows → lines of JSON that are appended, for its owner alone", async () => {
  await using folder = await temporary();
  await write(folder.file, [FLOW]);
  await write(folder.file, [REFUSED]);
  const text = await readFile(folder.file, "utf8");
  const [first, second] = text.trimEnd().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(first, {
    started_at: FLOW.startedAt,
    ended_at: FLOW.endedAt,
    proto: "tcp",
    direction: "in",
    agent_id: "builder-1",
    name: "builder",
    port: 8080,
    received_bytes: 10,
    sent_bytes: 20,
    end: "clean",
    reason: null,
    count: 1,
  });
  assert.deepEqual([second.end, second.reason, second.count], ["refused", "no_rule", 40]);
  assert.equal((await stat(folder.file)).mode & 0o777, 0o600);
});

Deno.test("a disk without room → told once, and nothing is thrown", async () => {
  const told: string[] = [];
  const log = new FlowFile("/dev/full", (message) => told.push(message));
  for (let round = 0; round < 3; round++) {
    log.add(FLOW);
    await log.close();
  }
  assert.equal(told.length, 1);
  assert.match(told[0]!, /^The flows are not all written to \/dev\/full: .*(ENOSPC|No space)/);
});

Deno.test("a file that cannot be made → told once, before the first flow; written once it can be", async () => {
  await using folder = await temporary();
  const told: string[] = [];
  const file = join(folder.file, "flows.jsonl");
  const log = new FlowFile(file, (message) => told.push(message));
  await log.close();
  assert.equal(told.length, 1);
  log.add(FLOW);
  await log.close();
  await Deno.mkdir(folder.file);
  log.add(REFUSED);
  await log.close();
  assert.equal(told.length, 1);
  assert.deepEqual((await totalsOf(file)).map(({ refused, clean }) => [refused, clean]), [[40, 0]]);
});

Deno.test("a file that has grown → renamed, and a new one begins", async () => {
  await using folder = await temporary();
  await writeFile(folder.file, `${"x".repeat(MOST_BYTES)}\n`);
  await write(folder.file, [FLOW]);
  assert.equal((await stat(`${folder.file}.1`)).size, MOST_BYTES + 1);
  assert.equal((await readFile(folder.file, "utf8")).split("\n").length, 2);
  const totals = await totalsOf(folder.file);
  assert.deepEqual(totals.map(({ clean }) => clean), [1], "what is no flow is not counted");
});

Deno.test("totals of a file → by way, agent and port; a line that was cut off is not counted", async () => {
  await using folder = await temporary();
  const reset: Flow = { ...FLOW, end: "reset", reason: "by_peer" };
  await write(folder.file, [FLOW, FLOW, REFUSED, reset, { ...FLOW, direction: "out", port: 443 }]);
  await writeFile(folder.file, '{"direction":"in","agent', { flag: "a" });
  const [into, out, ...others] = await totalsOf(folder.file);
  assert.deepEqual(others, []);
  assert.deepEqual(into, {
    proto: "tcp",
    direction: "in",
    agent: "builder-1",
    port: 8080,
    clean: 2,
    reset: 1,
    refused: 40,
    reasons: { no_rule: 40, by_peer: 1 },
    received_bytes: 40,
    sent_bytes: 80,
  });
  assert.equal(reasonsOf(into!), "40 no rule, 1 by peer");
  assert.deepEqual([out?.direction, out?.port, out?.clean], ["out", 443, 1]);
});
