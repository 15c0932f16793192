import assert from "node:assert/strict";
import { meshDatabaseForThisFile, Refusal } from "../mesh/mesh_database.ts";
import {
  apply,
  plan,
  policyOf,
  putInForce,
  rulesOf,
  setTags,
  startOver,
  stateOf,
  versionsOf,
} from "./policy_database.ts";

const file = meshDatabaseForThisFile();

function refusedWith(message: string) {
  return (error: unknown) => error instanceof Refusal && error.message === message;
}

Deno.test("a policy for tags and agents → a rule between each two of them, none of an agent with itself", async () => {
  const { mesh } = file;
  await startOver(mesh);
  await setTags(mesh, "a", "tag:x", "tag:y");
  await setTags(mesh, "b", "tag:y");
  const policy = policyOf([
    { from: "tag:x", to: "tag:y", ports: [80, 443] },
    { from: "never-seen", to: "tag:x", proto: "udp" },
  ]);
  const planned = await plan(mesh, policy);
  assert.deepEqual(planned.rules, { added: 3, removed: 0 });
  assert.deepEqual(await rulesOf(mesh), []);
  const applied = await apply(mesh, { policy, expect: planned.fingerprint });
  assert.deepEqual(applied, {
    fingerprint: planned.fingerprint,
    added: 3,
    removed: 0,
    changed_agents: 0,
    remaining: 0,
  });
  assert.deepEqual(await rulesOf(mesh), [
    "a b tcp 80 policy active",
    "a b tcp 443 policy active",
    "never-seen a udp 443 policy active",
  ]);
});

Deno.test("an empty policy → ends the rules of the policy, and nothing that agents agreed to", async () => {
  const { mesh } = file;
  await startOver(mesh);
  await putInForce(mesh, [{ from: "a", to: "b" }, { from: "a", to: "c" }, { from: "b", to: "c" }]);
  await mesh.put({ from_agent: "a", to_agent: "b" });
  await mesh.put({ from_agent: "a", to_agent: "b", port: 1 });
  await mesh.put({ from_agent: "b", to_agent: "c" }, await mesh.callerOf("b"));
  await putInForce(mesh, []);
  assert.deepEqual(await rulesOf(mesh), [
    "a b tcp 1 agents active",
    "a b tcp 443 agents active",
    "b c tcp 443 agents request",
  ]);
});

Deno.test("plan, then apply → the versions of exactly the agents that the plan names rise by one", async () => {
  const { mesh } = file;
  await startOver(mesh);
  for (const agent of ["a", "b", "c", "d"]) await mesh.register(agent);
  await mesh.put({ from_agent: "a", to_agent: "b", port: 22 });
  await mesh.put({ from_agent: "c", to_agent: "d" });
  const before = await versionsOf(mesh);
  const policy = policyOf([
    // They see each other already, so only b's configuration changes.
    { from: "a", to: "b" },
    // The agents have this rule already, so no configuration changes.
    { from: "c", to: "d" },
    { from: "a", to: "not-registered" },
    // They do not see each other yet, so both configurations change.
    { from: "b", to: "c", ports: [1, 2] },
  ]);
  const planned = await plan(mesh, policy);
  assert.deepEqual(planned.agents, ["b", "c"]);
  assert.deepEqual([planned.gained, planned.lost], [{ rules: 4, pairs: 1 }, {
    rules: 0,
    pairs: 0,
  }]);
  await apply(mesh, { policy, expect: planned.fingerprint });
  const after = await versionsOf(mesh);
  assert.deepEqual(after, {
    ...before,
    b: before["b"]! + 1,
    c: before["c"]! + 1,
    "not-registered": 0,
  });
  assert.deepEqual((await mesh.configuration("b"))?.peers.map(({ agent_id }) => agent_id), [
    "a",
    "c",
  ]);

  const undone = await plan(mesh, policyOf([]));
  assert.deepEqual(undone.agents, ["b", "c"]);
  assert.deepEqual(undone.lost, { rules: 4, pairs: 1 });
  await putInForce(mesh, []);
  assert.deepEqual(await versionsOf(mesh), {
    ...before,
    b: before["b"]! + 2,
    c: before["c"]! + 2,
    "not-registered": 0,
  });
  assert.deepEqual(await rulesOf(mesh), [
    "a b tcp 22 agents active",
    "c d tcp 443 agents active",
  ]);
});

Deno.test("a plan → applying it does exactly this, with an event for each rule and each pair", async () => {
  const { mesh } = file;
  await startOver(mesh);
  await Promise.all([mesh.register("a"), mesh.register("b")]);
  const [last] = await mesh.owner`select max(event_id) as id from agents.events`;
  await putInForce(mesh, [{ from: "b", to: "a" }]);
  await putInForce(mesh, []);
  const events = await mesh.owner`
    select action, subject_agent_id, other_agent_id, details - 'fingerprint' as details
    from agents.events where event_id > ${last?.["id"]} order by event_id`;
  const rule = { to_agent: "a", proto: "tcp", port: 443, origin: "policy" };
  assert.deepEqual(events.map(Object.values), [
    ["policy.applied", null, null, { added: 1, removed: 0 }],
    ["rule.activated", "b", "a", rule],
    ["peer.appeared", "a", "b", {}],
    ["policy.applied", null, null, { added: 0, removed: 1 }],
    ["rule.revoked", "b", "a", rule],
    ["peer.vanished", "a", "b", {}],
  ]);
});

Deno.test("apply_policy after a tag or the policy changed → policy_changed, and nothing changes", async () => {
  const { mesh } = file;
  await startOver(mesh);
  await setTags(mesh, "a", "tag:x");
  const policy = policyOf([{ from: "tag:x", to: "b" }], ["tested"]);
  const changes = [
    () => setTags(mesh, "c", "tag:x"),
    () => setTags(mesh, "c"),
    () => setTags(mesh, "tested", "tag:unrelated"),
    () => putInForce(mesh, [{ from: "c", to: "b" }]),
  ];
  for (const change of changes) {
    const { fingerprint } = await plan(mesh, policy);
    await change();
    const before = await stateOf(mesh);
    // The fingerprint of the plan is outdated, also when the second change takes the tag away
    // again.
    await assert.rejects(
      apply(mesh, { policy, expect: fingerprint }),
      refusedWith("policy_changed"),
    );
    assert.deepEqual(await stateOf(mesh), before);
  }
  const { fingerprint } = await plan(mesh, policy);
  await setTags(mesh, "elsewhere", "tag:unrelated");
  await apply(mesh, { policy, expect: fingerprint });
  const other = policyOf([{ from: "tag:x", to: "b" }]);
  const before = await stateOf(mesh);
  await assert.rejects(
    apply(mesh, { policy: other, expect: fingerprint }),
    refusedWith("policy_changed"),
  );
  assert.deepEqual(await stateOf(mesh), before);
});

Deno.test("an apply that stops after each step → goes on where it was, first ends, and finishes once", async () => {
  const { mesh } = file;
  await startOver(mesh);
  await putInForce(mesh, [{ from: "a", to: "b", ports: [1, 2, 3, 4, 5] }]);
  const policy = policyOf([{ from: "a", to: "c", ports: [1, 2, 3, 4, 5] }]);
  const expect = (await plan(mesh, policy)).fingerprint;
  const steps = [];
  let remaining = 1;
  while (remaining > 0) {
    const step = await apply(mesh, { policy, expect, max_changes: 3 });
    remaining = step.remaining;
    steps.push([step.removed, step.added, step.remaining]);
    const read = await mesh.call<{ finished_at: string | null }>("read_policy", {});
    assert.equal(read.finished_at === null, remaining > 0);
  }
  assert.deepEqual(steps, [[3, 0, 7], [2, 1, 4], [0, 3, 1], [0, 1, 0]]);
  assert.deepEqual((await rulesOf(mesh)).length, 5);
  const finished = await stateOf(mesh);
  assert.equal((await apply(mesh, { policy, expect, max_changes: 3 })).remaining, 0);
  assert.deepEqual(await stateOf(mesh), finished);
  const [row] = await mesh.owner`select rules from mesh.policies`;
  assert.equal(row?.["rules"], 5);
});

Deno.test("a tag that comes between two steps of an apply → ends with the rules of the whole policy", async () => {
  const { mesh } = file;
  await startOver(mesh);
  for (const agent of ["a", "b", "c"]) await setTags(mesh, agent, "tag:x");
  const policy = policyOf([{ from: "tag:x", to: "hub" }, { from: "tag:x", to: "tag:x" }]);
  const expect = (await plan(mesh, policy)).fingerprint;
  await apply(mesh, { policy, expect, max_changes: 2 });
  await setTags(mesh, "d", "tag:x");
  await setTags(mesh, "a");
  while ((await apply(mesh, { policy, expect, max_changes: 2 })).remaining > 0);
  assert.deepEqual(await rulesOf(mesh), [
    "b c tcp 443 policy active",
    "b d tcp 443 policy active",
    "b hub tcp 443 policy active",
    "c b tcp 443 policy active",
    "c d tcp 443 policy active",
    "c hub tcp 443 policy active",
    "d b tcp 443 policy active",
    "d c tcp 443 policy active",
    "d hub tcp 443 policy active",
  ]);
});
