/** The doctor's findings about enrolments. */
import assert from "node:assert/strict";
import { endMadeEnrolments, put, revokeAll } from "../conformance/enrolment/enrolments.ts";
import { withStackDatabase } from "../database/connection.ts";
import { runTask } from "../stack/stack_process.ts";

Deno.test.afterEach(endMadeEnrolments);

interface Finding {
  readonly check: string;
  readonly level: string;
  readonly message: string;
  readonly paste: { readonly text: string } | null;
}

async function findings(): Promise<Finding[]> {
  const { output } = await runTask("operator/doctor/main.ts", { args: ["--json"] });
  const all: Finding[] = JSON.parse(output).findings;
  return all.filter(({ check }) => check === "enrolments");
}

Deno.test("an enrolment key for ever and for everybody → a note that says which, and ends it; with an end, or of one use → none", async () => {
  await put();
  await put({ uses_left: null });
  await put({ expires_at: null });
  const before = await findings();
  assert.deepEqual(before.map(({ level }) => level), ["ok"]);
  const { enrolment_id } = await put({ uses_left: null, expires_at: null, label: "found" });
  const [found, ...others] = await findings();
  assert.deepEqual([found!.level, others], ["note", []]);
  assert.match(found!.message, new RegExp(`${enrolment_id} \\(found\\)`));
  assert.ok(found!.paste!.text.includes(`task enrolment:revoke ${enrolment_id}`));
  await revokeAll(enrolment_id);
  assert.deepEqual((await findings()).map(({ level }) => level), ["ok"]);
});

Deno.test("an enrolment key of before, for several uses and any name → a note that says which, and ends it", async () => {
  const { enrolment_id } = await put({ uses_left: null, label: "of before" });
  await withStackDatabase((sql) =>
    sql`update agents.enrolments set agent_prefix = null where enrolment_id = ${enrolment_id}`
  );
  const [found, ...others] = await findings();
  assert.deepEqual([found!.level, others], ["note", []]);
  assert.match(found!.message, new RegExp(`${enrolment_id} \\(of before\\).*every name`));
  assert.ok(found!.paste!.text.includes(`task enrolment:revoke ${enrolment_id}`));
});
