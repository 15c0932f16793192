/** The doctor's findings about enrolments. */
import assert from "node:assert/strict";
import { tryRegister } from "../../../../tests/conformance/artifacts.ts";
import {
  agentOf,
  endMadeEnrolments,
  enrol,
  newName,
  put,
  revokeAll,
} from "../../../../tests/conformance/enrolment/enrolments.ts";
import { withStackDatabase } from "../../../../tests/database/connection.ts";
import { runTask } from "../../../local/tests/stack/stack_process.ts";

Deno.test.afterEach(endMadeEnrolments);

interface Finding {
  readonly check: string;
  readonly level: string;
  readonly message: string;
  readonly paste: { readonly text: string } | null;
}

async function findings(): Promise<Finding[]> {
  const { output } = await runTask("agentops doctor", { args: ["--json"] });
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
  assert.ok(found!.paste!.text.includes(`task agentops enrolment revoke ${enrolment_id}`));
  await revokeAll(enrolment_id);
  assert.deepEqual((await findings()).map(({ level }) => level), ["ok"]);
});

Deno.test("an enrolment key from an earlier release, for several uses and any name → a note that names it, and the command that ends it", async () => {
  const { enrolment_id } = await put({ uses_left: null, label: "of before" });
  await withStackDatabase((sql) =>
    sql`update agents.enrolments set agent_prefix = null where enrolment_id = ${enrolment_id}`
  );
  const [found, ...others] = await findings();
  assert.deepEqual([found!.level, others], ["note", []]);
  assert.match(found!.message, new RegExp(`${enrolment_id} \\(of before\\).*every name`));
  assert.ok(found!.paste!.text.includes(`task agentops enrolment revoke ${enrolment_id}`));
});

Deno.test("an enrolment with nine tenths of its agents, or of its quota → a note that says which, and a command that allows more; with fewer → none", async () => {
  const { enrolment_id, enrolment_key } = await put({
    uses_left: null,
    max_agents: 2,
    quota_bytes: 100,
    label: "builders",
  });
  const agent = agentOf(await enrol({ enrolment_key, agent_name: newName("vm") }));
  const register = (size: number) =>
    tryRegister(agent, { key: "k", mime: "text/plain", size, ttl_days: 1 });
  assert.equal((await register(80)).status, 200);
  assert.deepEqual((await findings()).map(({ level }) => level), ["ok"]);

  assert.equal((await register(10)).status, 200);
  await enrol({ enrolment_key, agent_name: newName("vm") });
  const [agents, bytes, ...others] = await findings();
  assert.deepEqual([agents!.level, bytes!.level, others], ["note", "note", []]);
  assert.match(
    agents!.message,
    new RegExp(`${enrolment_id} \\(builders\\) has 2 of at most 2 agents`),
  );
  assert.ok(
    agents!.paste!.text.includes(`task agentops enrolment limit ${enrolment_id} --max-agents 4`),
  );
  assert.match(bytes!.message, /hold 90 B of at most 100 B together/);
  assert.ok(
    bytes!.paste!.text.includes(`task agentops enrolment limit ${enrolment_id} --quota 200`),
  );
});
