import assert from "node:assert/strict";
import { CommandError } from "../../../command/command_error.ts";
import { EVENT_TYPES } from "../../reads/event_types.ts";
import { ENDING_TYPES } from "../../restore/ending_types.ts";
import { readRecord } from "../../restore/record.ts";
import { REPLAYS } from "../../restore/replay.ts";

const KEY = `key_${"1".repeat(32)}`;
const ENROLMENT = `enr_${"4".repeat(32)}`;

async function read(...lines: readonly (object | string)[]) {
  const file = await Deno.makeTempFile();
  try {
    const texts = lines.map((line) => typeof line === "string" ? line : JSON.stringify(line));
    await Deno.writeTextFile(file, texts.join("\n"));
    return await readRecord(file);
  } finally {
    await Deno.remove(file);
  }
}

const event = (number: number, second: number, type = "key.revoked", fields: object = {}) => ({
  event_id: `evt_${number}`,
  type,
  at: `2026-01-31T09:30:0${second}.000Z`,
  ...fields,
});

Deno.test("readRecord() of exports that overlap → each event once, as it was exported first, in the order of their times", async () => {
  const renamed = event(7, 2, "agent.removed", { agent_id: `erased-${"0".repeat(32)}` });
  const record = await read(
    event(8, 3),
    event(7, 2, "agent.removed", { agent_id: "planner" }),
    "",
    event(8, 3),
    renamed,
    // The number was given out again after an earlier restore.
    event(7, 5),
  );
  assert.deepEqual(record.map(({ number, event }) => [number, event?.at, event?.["agent_id"]]), [
    [2, "2026-01-31T09:30:02.000Z", "planner"],
    [1, "2026-01-31T09:30:03.000Z", undefined],
    [6, "2026-01-31T09:30:05.000Z", undefined],
  ]);
});

Deno.test("readRecord() of ids and of events without a place in the log → they are read, before the others", async () => {
  const record = await read(event(1, 0), `  ${KEY}\r`, ENROLMENT, {
    type: "key.revoked",
    key_id: KEY,
  });
  assert.deepEqual(record.map(({ number, event }) => [number, event?.type]), [
    [2, "key.revoked"],
    [3, "enrolment.revoked"],
    [4, "key.revoked"],
    [1, "key.revoked"],
  ]);
});

for (
  const line of [
    `2026-01-31T09:30:00Z\tkey.created\toperator\tkey_id=${KEY}`,
    `{"type":"key.revoked","key_id":"${KEY}"`,
    `{"key_id":"${KEY}"}`,
    "null",
    "[]",
    "7",
    "ak_1",
  ]
) {
  Deno.test(`readRecord() of a line ${line.slice(0, 40)} → a line without an event, and the others are read`, async () => {
    const record = await read(KEY, line, ENROLMENT);
    assert.deepEqual(record.map(({ number, event }) => [number, event === null]), [
      [1, false],
      [2, true],
      [3, false],
    ]);
  });
}

Deno.test("readRecord() of a file that does not exist → refused", async () => {
  await assert.rejects(readRecord("/nowhere/record"), CommandError);
});

for (const type of ["rule.revoked", "psk.rotated", "sender.blocked", "sender.unblocked"]) {
  Deno.test(`${type} that stands for changes of more than 2,000 things → not replayed as one of them, but named`, async () => {
    const latest = { from_agent: "a", to_agent: "a", proto: "tcp", port: 443, a: "a" };
    const line = { type, actor: "a", agent_id: "a", ...latest, times: 7 };
    const later = { isActivatedAgain: () => false, isLast: () => true };
    await assert.rejects(REPLAYS[type]!(line, later), {
      name: "UnusableLine",
      message: `${type} stands for 7 of a's changes, which the log does not name: ` +
        "look at what the agent has now",
    });
  });
}

/** Events after which nobody has less access, and which change no decision of the operator. */
const WITHOUT_REPLAY: readonly string[] = [
  "agent.enrolled",
  "enrolment.created",
  "enrolment.refused",
  "connection.refused",
  "key.created",
  "grant.created",
  "standing.created",
  "artifact.registered",
  "artifact.committed",
  "artifact.opened",
  "artifact.fetched",
  "rule.requested",
  "peer.appeared",
  "peer.vanished",
  // The sweep, /commit and fsck make these again by themselves.
  "agent.expired",
  "artifact.expired",
  "artifact.abandoned",
  "artifact.superseded",
  "artifact.lost",
  "artifact.recovered",
  "events.forgotten",
  "epoch.begun",
  "ending.replayed",
  // A webhook that is lost is missed, and gives no access.
  "webhook.created",
  "webhook.tested",
  // A task whose outcome is lost waits again: it is done at least once.
  "task.taken",
  "task.done",
  "task.failed",
  "task.parked",
];

Deno.test("every type of event → is exported for a record, or needs no replay; every exported one can be replayed", () => {
  assert.deepEqual([...ENDING_TYPES, ...WITHOUT_REPLAY].sort(), EVENT_TYPES.toSorted());
  // For each agent.erased there is a name.erased, which is replayed.
  const replayed = [...Object.keys(REPLAYS), "agent.erased"];
  assert.deepEqual(replayed.sort(), ENDING_TYPES.toSorted());
});
