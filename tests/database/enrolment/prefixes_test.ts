/** An enrolment key for more than one use gives names of its own alone. */
import assert from "node:assert/strict";
import { assertInvalid, operatorRpc } from "../../conformance/client.ts";
import {
  endMadeEnrolments,
  enrol,
  newName,
  put,
  tryEnrol,
  tryPut,
} from "../../conformance/enrolment/enrolments.ts";
import { withStackDatabase } from "../connection.ts";

Deno.test.afterEach(endMadeEnrolments);

Deno.test("an enrolment key for more than one use without agent_prefix, agent_template or agent_id → 422, and no enrolment is made", async () => {
  const count = () =>
    withStackDatabase((sql) => sql`select count(*)::integer as count from agents.enrolments`);
  const before = await count();
  for (const uses_left of [null, 2]) {
    assertInvalid(await tryPut({ kind: "key", uses_left }), "agent_prefix");
  }
  for (
    const agent_template of ["always", "{agent_name}", "a-{sub}", "a-{agent_name}-{agent_name}"]
  ) {
    assertInvalid(await tryPut({ kind: "key", agent_template }), "agent_template");
  }
  assertInvalid(await tryPut({ kind: "key", agent_prefix: "-a" }), "agent_prefix");
  assertInvalid(await tryPut({ kind: "key", agent_prefix: "a-", agent_id: "a-b" }), "agent_id");
  const rpc = await operatorRpc("put_enrolment", {
    caller: { kind: "operator" },
    enrolment: { kind: "key", session_seconds: 60, uses_left: null },
  });
  assert.equal(rpc.status, 422, "the database decides");
  assert.deepEqual(await count(), before);
});

Deno.test("/enroll by an enrolment key with agent_prefix or agent_template → names of its own alone", async () => {
  const prefixed = await put({ uses_left: null, agent_prefix: "new-builders-" });
  const named = newName("builders");
  const enrolAs = (agent_name: string) =>
    tryEnrol({ enrolment_key: prefixed.enrolment_key, agent_name });
  for (const name of ["new-builders-", "finance", `x${named}`, named.toUpperCase()]) {
    assertInvalid(await enrolAs(name), "agent_name");
  }
  assert.equal((await enrolAs(named)).body["agent_id"], named);
  const formed = await put({ uses_left: null, agent_template: "new-vm-{agent_name}.eu" });
  const id = crypto.randomUUID();
  const enrolled = await enrol({ enrolment_key: formed.enrolment_key, agent_name: id });
  assert.equal(enrolled.agent_id, `new-vm-${id}.eu`);
  assertInvalid(
    await tryEnrol({ enrolment_key: formed.enrolment_key, agent_name: "a".repeat(125) }),
    "agent_name",
  );
});
