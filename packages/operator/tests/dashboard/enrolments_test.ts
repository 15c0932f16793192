/** Enrolments on the dashboard. */
import assert from "node:assert/strict";
import {
  endMadeEnrolments,
  enrol,
  newName,
  put,
  revokeAll,
  tryEnrol,
  whoami,
} from "../../../../tests/conformance/enrolment/enrolments.ts";
import { withForms } from "./forms.ts";

Deno.test.afterEach(endMadeEnrolments);

Deno.test("an enrolment key that was made on the page → works as it was filled in, is shown once, and its enrolment is listed", async () => {
  await withForms(async (forms) => {
    const token = await forms.tokenOf("enrolment.create", {});
    const { status, location } = await forms.send("enrolment.create", {
      token,
      label: "<b>by hand</b>",
      agent_id: "",
      prefix: "new-",
      uses: "2",
      tags: "tag:eu  tag:builder",
    });
    assert.equal(status, 303);
    const result = location!.slice(3);
    const { text } = await forms.open(result);
    const [enrolment_key = ""] = /ek_[0-9a-f]{64}/.exec(text) ?? [];
    const [enrolment_id = ""] = /enr_[0-9a-f]{32}/.exec(text) ?? [];
    const { tags } = await enrol({ enrolment_key, agent_name: newName("vm") });
    assert.deepEqual(tags, ["tag:builder", "tag:eu"]);
    const list = (await forms.open("enrolments/")).text;
    assert.ok(list.includes(enrolment_id) && list.includes("&lt;b&gt;by hand&lt;/b&gt;"), list);
    for (const path of [result, "enrolments/"]) {
      assert.ok(!(await forms.open(path)).text.includes(enrolment_key), path);
    }
    await revokeAll(enrolment_id);
  });
});

Deno.test("a form for an enrolment key with something wrong in it → 422, and no enrolment is made", async () => {
  await withForms(async (forms) => {
    const before = (await forms.open("enrolments/")).text.match(/enr_[0-9a-f]{32}/g)?.length ?? 0;
    for (
      const [inputs, said] of [
        [{ uses: "many" }, "whole number"],
        [{ tags: "eu" }, "tags.0"],
        [{ agent_id: "no name" }, "agent_id"],
        [{ label: "a".repeat(129) }, "label"],
      ] as const
    ) {
      const token = await forms.tokenOf("enrolment.create", {});
      const { status, text } = await forms.send("enrolment.create", { ...inputs, token });
      assert.equal(status, 422, text);
      assert.ok(text.includes(said), text);
    }
    const after = (await forms.open("enrolments/")).text.match(/enr_[0-9a-f]{32}/g)?.length ?? 0;
    assert.equal(after, before);
  });
});

Deno.test("an enrolment that is revoked on the page → every agent of it has ended; without the form's token or a choice, nothing has", async () => {
  const { enrolment_id, enrolment_key } = await put({ uses_left: null });
  const agents = await Promise.all(
    ["a", "b"].map((name) => enrol({ enrolment_key, agent_name: newName(name) })),
  );
  await withForms(async (forms) => {
    const target = { enrolment_id };
    const other = await put();
    const elsewhere = await forms.tokenOf("enrolment.revoke", { enrolment_id: other.enrolment_id });
    for (const token of ["", elsewhere]) {
      const sent = await forms.send("enrolment.revoke", { ...target, token, undo_grants: "no" });
      assert.equal(sent.status, 403);
    }
    const unsaid = await forms.tokenOf("enrolment.revoke", target);
    assert.equal((await forms.send("enrolment.revoke", { ...target, token: unsaid })).status, 422);
    for (const agent of agents) assert.equal((await whoami(agent)).status, 200);

    const token = await forms.tokenOf("enrolment.revoke", target);
    const values = { ...target, token, undo_grants: "no" };
    const { status, location } = await forms.send("enrolment.revoke", values);
    assert.equal(status, 303);
    assert.match((await forms.open(location!.slice(3))).text, /2 agents, 2 agent keys, 0 peers/);
    for (const agent of agents) assert.equal((await whoami(agent)).status, 401);
    assert.equal((await tryEnrol({ enrolment_key, agent_name: newName("c") })).status, 401);
    const unknown = await forms.open(`act/enrolment.revoke?enrolment_id=enr_${"0".repeat(32)}`);
    assert.equal(unknown.status, 409);
  });
});
