import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { meshDatabaseForThisFile, Refusal } from "../mesh/mesh_database.ts";
import { putInForce, rulesOf, setTags, startOver, stateOf, versionsOf } from "./policy_database.ts";

const file = meshDatabaseForThisFile();
const OPERATOR = { kind: "operator" };

function refusedWith(message: string) {
  return (error: unknown) => error instanceof Refusal && error.message === message;
}

Deno.test("an agent that gets and loses a tag → gets and loses the rules, and only the texts concerned change", async () => {
  const { mesh } = file;
  await startOver(mesh);
  for (const agent of ["a", "b", "hub", "other"]) await mesh.register(agent);
  await setTags(mesh, "hub", "tag:hub");
  await putInForce(mesh, [{ from: "tag:worker", to: "tag:hub" }, { from: "other", to: "other-2" }]);
  const before = await versionsOf(mesh);
  await setTags(mesh, "a", "tag:worker", "tag:unrelated");
  assert.deepEqual(await rulesOf(mesh), [
    "a hub tcp 443 policy active",
    "other other-2 tcp 443 policy active",
  ]);
  assert.deepEqual(await versionsOf(mesh), {
    ...before,
    a: before["a"]! + 1,
    hub: before["hub"]! + 1,
  });
  await setTags(mesh, "a", "tag:worker");
  assert.equal((await versionsOf(mesh))["a"], before["a"]! + 1);
  await setTags(mesh, "a");
  assert.deepEqual(await rulesOf(mesh), ["other other-2 tcp 443 policy active"]);
  assert.deepEqual(await versionsOf(mesh), {
    ...before,
    a: before["a"]! + 2,
    hub: before["hub"]! + 2,
  });
});

Deno.test("/peer/remove → the agents' own rules go, the policy's stay and hold for the next peer", async () => {
  const { mesh } = file;
  await startOver(mesh);
  await Promise.all([mesh.register("a"), mesh.register("b")]);
  await putInForce(mesh, [{ from: "a", to: "b" }]);
  await mesh.put({ from_agent: "a", to_agent: "b" });
  await mesh.put({ from_agent: "a", to_agent: "b", port: 1 });
  await mesh.remove("a");
  assert.deepEqual(await rulesOf(mesh), ["a b tcp 443 policy active"]);
  assert.deepEqual((await mesh.configuration("b"))?.peers, []);
  await mesh.register("a");
  assert.deepEqual((await mesh.configuration("b"))?.peers.map(({ agent_id }) => agent_id), ["a"]);
  await putInForce(mesh, []);
  assert.deepEqual(await rulesOf(mesh), []);
});

Deno.test("remove_agent, leave, end_idle_agent → the rules that came by tags go with them", async () => {
  const { mesh } = file;
  await startOver(mesh);
  await putInForce(mesh, [{ from: "tag:worker", to: "hub" }, { from: "named", to: "hub" }]);
  await mesh.register("hub");
  for (const agent of ["removed", "named"]) {
    await setTags(mesh, agent, "tag:worker");
    await mesh.register(agent);
  }
  await mesh.call("remove_agent", { agent_id: "removed" });
  await mesh.call("remove_agent", { agent_id: "named" });
  // The policy still names the removed agent, so the rule remains, without a peer.
  assert.deepEqual(await rulesOf(mesh), ["named hub tcp 443 policy active"]);
  assert.deepEqual((await mesh.configuration("hub"))?.peers, []);

  const { enrolment_key } = await mesh.call<{ enrolment_key: string }>("put_enrolment", {
    caller: OPERATOR,
    enrolment: {
      kind: "key",
      agent_template: "{agent_name}",
      tags: ["tag:worker"],
      uses_left: null,
      session_seconds: 60,
      ephemeral_seconds: 300,
    },
  });
  const key = createHash("sha256").update(enrolment_key).digest("hex");
  for (const agent_name of ["leaves", "idles"]) {
    await mesh.call("enrol_with_key", {
      caller: { kind: "enrolment" },
      enrolment_key_hash: key,
      agent_name,
    });
    await mesh.register(agent_name);
  }
  assert.deepEqual(await rulesOf(mesh), [
    "idles hub tcp 443 policy active",
    "leaves hub tcp 443 policy active",
    "named hub tcp 443 policy active",
  ]);
  await mesh.call("leave", { caller: OPERATOR, agent_id: "leaves" });
  await mesh.owner`
    update agents.enrolled_agents set enrolled_at = now() - interval '1 day' where agent_id = 'idles'`;
  await mesh.owner`update mesh.liveness set last_seen = null where agent_id = 'idles'`;
  assert.deepEqual(await mesh.call("end_idle_agent", { caller: OPERATOR, agent_id: "idles" }), {
    ended: 1,
  });
  assert.deepEqual(await rulesOf(mesh), ["named hub tcp 443 policy active"]);
});

Deno.test("erase_agent of an agent that the policy names → policy_rule, and nothing changes; of another → erased", async () => {
  const { mesh } = file;
  await startOver(mesh);
  await setTags(mesh, "tagged", "tag:worker");
  await putInForce(mesh, [{ from: "tag:worker", to: "named" }]);
  const before = await stateOf(mesh);
  await assert.rejects(
    mesh.call("erase_agent", { agent_id: "named" }),
    refusedWith("policy_rule"),
  );
  assert.deepEqual(await stateOf(mesh), before);
  await mesh.call("erase_agent", { agent_id: "tagged" });
  assert.deepEqual(await rulesOf(mesh), []);
});

Deno.test("erase_agent of an agent that the policy's file names only in a comment or a test → policy_rule; of one whose name is only part of a word, or a word of the format → erased", async () => {
  const { mesh } = file;
  await startOver(mesh);
  await putInForce(mesh, []);
  await mesh.owner`update mesh.policies set source = ${`{
    // Once for ada.w, who left.
    "rules": [{ "from": "tag:bob", "to": "tag:carol-2", "ports": [443], "proto": "tcp" }],
    "tests": [{ "from": "dave", "to": "tag:bob", "port": 443, "proto": "tcp", "expect": "deny" }],
  }`}`;
  for (const agent_id of ["ada.w", "dave"]) {
    const before = await stateOf(mesh);
    await assert.rejects(mesh.call("erase_agent", { agent_id }), refusedWith("policy_rule"));
    assert.deepEqual(await stateOf(mesh), before);
  }
  for (const agent_id of ["bob", "carol", "carol-2", "ada", "w", "adaXw", "from", "tcp", "deny"]) {
    await mesh.call("erase_agent", { agent_id });
  }
});

Deno.test("a name that the policy has → no enrolment key may take it", async () => {
  const { mesh } = file;
  await startOver(mesh);
  await putInForce(mesh, [{ from: "boss", to: "tag:nobody-yet" }]);
  const { enrolment_key } = await mesh.call<{ enrolment_key: string }>("put_enrolment", {
    caller: OPERATOR,
    enrolment: {
      kind: "key",
      agent_template: "{agent_name}",
      uses_left: null,
      session_seconds: 60,
    },
  });
  const before = await stateOf(mesh);
  await assert.rejects(
    mesh.call("enrol_with_key", {
      caller: { kind: "enrolment" },
      enrolment_key_hash: createHash("sha256").update(enrolment_key).digest("hex"),
      agent_name: "boss",
    }),
    refusedWith("agent_name_taken"),
  );
  assert.deepEqual(await stateOf(mesh), before);
});

Deno.test("an agent whose name looks like a tag → is not meant by the tag", async () => {
  const { mesh } = file;
  await startOver(mesh);
  await putInForce(mesh, [{ from: "tag:x", to: "b" }, { from: "tag:y", to: "b" }]);
  await setTags(mesh, "tag:x", "tag:y");
  assert.deepEqual(await rulesOf(mesh), ["tag:x b tcp 443 policy active"]);
  await setTags(mesh, "tag:x");
  assert.deepEqual(await rulesOf(mesh), []);
});

Deno.test("a tag that would give an agent more than 10,000 rules → limit_exceeded, and nothing changes", async () => {
  const { mesh } = file;
  await startOver(mesh);
  await putInForce(mesh, [{ from: "tag:many", to: "hub" }]);
  await mesh.owner`
    insert into agents.agent_tags (agent_id, tag)
    select 'worker-' || n, 'tag:many' from generate_series(1, 10000) n`;
  await mesh.owner`
    insert into mesh.rules (from_agent, to_agent, proto, port, policy_since)
    select 'worker-' || n, 'hub', 'tcp', 443, now() from generate_series(1, 10000) n`;
  await mesh.owner`update mesh.policies set rules = 10000`;
  const before = await stateOf(mesh);
  await assert.rejects(setTags(mesh, "one-more", "tag:many"), refusedWith("limit_exceeded"));
  assert.deepEqual(await stateOf(mesh), before);
  // When one agent loses the tag, there is room for another.
  await setTags(mesh, "worker-1");
  await setTags(mesh, "one-more", "tag:many");
  const [row] = await mesh.owner`select rules from mesh.policies`;
  assert.equal(row?.["rules"], 10_000);
});
