import assert from "node:assert/strict";
import { CommandError } from "../../../local/command/command_error.ts";
import { readRevoked } from "../../../operator/restore/revocations.ts";

const [ONE, OTHER, IN_USE] = ["1", "2", "3"].map((digit) => `key_${digit.repeat(32)}`);
const ENROLMENT = `enr_${"4".repeat(32)}`;

async function read(...lines: readonly (object | string)[]) {
  const file = await Deno.makeTempFile();
  try {
    const texts = lines.map((line) => typeof line === "string" ? line : JSON.stringify(line));
    await Deno.writeTextFile(file, texts.join("\n"));
    const { keys, enrolments, ignored } = await readRevoked(file);
    return [Array.from(keys), Array.from(enrolments), ignored];
  } finally {
    await Deno.remove(file);
  }
}

Deno.test("an export of all events → only what was revoked; keys that were made, used or superseded are counted, not taken", async () => {
  assert.deepEqual(
    await read(
      { type: "key.created", key_id: IN_USE },
      { type: "artifact.opened", key_id: IN_USE, artifact_id: "art_1" },
      { type: "key.superseded", key_id: IN_USE },
      { type: "key.revoked", actor: "planner", key_id: ONE },
      { type: "enrolment.created", enrolment_id: `enr_${"5".repeat(32)}` },
      { type: "agent.enrolled", key_id: IN_USE, enrolment_id: `enr_${"5".repeat(32)}` },
      { type: "enrolment.revoked", enrolment_id: ENROLMENT },
    ),
    [[ONE], [ENROLMENT], 5],
  );
});

Deno.test("ids, each on a line, among events → they count, once each", async () => {
  assert.deepEqual(
    await read(`  ${OTHER}\r`, "", ENROLMENT, { type: "key.revoked", key_id: OTHER }, ""),
    [[OTHER], [ENROLMENT], 0],
  );
});

for (
  const line of [
    `2026-01-31T09:30:00Z\tkey.created\toperator\tkey_id=${IN_USE}`,
    `{"type":"key.revoked","key_id":"${ONE}"`,
    `{"key_id":"${ONE}"}`,
    `{"type":"key.revoked"}`,
    "null",
    "ak_1",
  ]
) {
  Deno.test(`a line ${line.slice(0, 40)} → refused, with its number`, async () => {
    await assert.rejects(
      read(ONE!, line),
      (error) => error instanceof CommandError && /^Line 2 of \S+ is neither /.test(error.message),
    );
  });
}
