import assert from "node:assert/strict";
import { createHash, randomInt } from "node:crypto";
import {
  agentNames,
  type MeshDatabase,
  meshDatabaseForThisFile,
  Refusal,
  untilDone,
} from "../mesh/mesh_database.ts";
import {
  apply,
  type Line,
  plan,
  policyOf,
  putInForce,
  rulesOf,
  setTags,
  startOver,
} from "./policy_database.ts";

const file = meshDatabaseForThisFile();

const AGENTS = agentNames(8);
const TAGS = ["tag:x", "tag:y", "tag:z"];

/** Accepts the refusals policy_changed (plan again) and policy_rule (the policy has the rule). */
async function unlessRefused(change: () => Promise<unknown>): Promise<void> {
  try {
    await untilDone(change);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    assert.match(error.message, /^(?:policy_changed|policy_rule)$/);
  }
}

function one<Value>(values: readonly Value[]): Value {
  return values[randomInt(values.length)]!;
}

function someLines(): Line[] {
  const names = [...TAGS, ...AGENTS.slice(0, 2)];
  return Array.from({ length: randomInt(5) }, () => ({
    from: one(names),
    to: one(names),
    ports: [1 + randomInt(3)],
  }));
}

/**
 * Asserts that the policy's rules follow from its lines and the tags, and that every pair exists.
 */
async function checkMesh(mesh: MeshDatabase): Promise<void> {
  const [row] = await mesh.owner`
    select cardinality(mesh.changes_of_policy(mesh.policy_in_force())) as changes,
      (select p.rules from mesh.policies p) as counted,
      (select count(*)::integer from mesh.rules where policy_since is not null) as present`;
  assert.equal(row?.["changes"], 0);
  assert.equal(row?.["counted"], row?.["present"]);
  for (const agent of AGENTS) {
    for (const peer of (await mesh.configuration(agent))?.peers ?? []) {
      assert.notEqual(peer.psk_version, null, `${agent} and ${peer.agent_id} have no pair`);
    }
  }
}

Deno.test("policies, tags, peers and rules change at once → no deadlock, and the rules of the policy are exact", async () => {
  const { mesh } = file;
  await startOver(mesh);
  await putInForce(mesh, []);
  const changes = [
    () => setTags(mesh, one(AGENTS), ...TAGS.filter(() => randomInt(2) === 0)),
    () => setTags(mesh, one(AGENTS), ...TAGS.filter(() => randomInt(2) === 0)),
    () => putInForce(mesh, someLines()),
    () => mesh.register(one(AGENTS)),
    () => mesh.register(one(AGENTS)),
    () => mesh.remove(one(AGENTS)),
    () => mesh.call("remove_agent", { agent_id: one(AGENTS) }),
    () => putAnyRule(mesh),
    () => revokeAnyRule(mesh),
  ];
  for (let round = 0; round < 8; round++) {
    await Promise.all(
      Array.from({ length: 12 }, async () => {
        for (let turn = 0; turn < 6; turn++) await unlessRefused(one(changes));
      }),
    );
    await checkMesh(mesh);
  }
});

function twoAgents() {
  const from_agent = one(AGENTS);
  return { from_agent, to_agent: one(AGENTS.filter((agent) => agent !== from_agent)), port: 1 };
}

function putAnyRule(mesh: MeshDatabase) {
  return mesh.put(twoAgents());
}

function revokeAnyRule(mesh: MeshDatabase) {
  return mesh.revoke(twoAgents());
}

Deno.test("two policies are applied at once, planned in the same state → one is in force, the other is policy_changed", async () => {
  const { mesh } = file;
  for (let round = 0; round < 10; round++) {
    await startOver(mesh);
    const policies = [policyOf([{ from: "a", to: "b" }]), policyOf([{ from: "a", to: "c" }])];
    const plans = await Promise.all(policies.map((policy) => plan(mesh, policy)));
    const settled = await Promise.allSettled(
      policies.map((policy, index) => apply(mesh, { policy, expect: plans[index]!.fingerprint })),
    );
    const applied = settled.findIndex(({ status }) => status === "fulfilled");
    const other = settled[1 - applied]!;
    assert.equal(other.status === "rejected" && other.reason.message, "policy_changed");
    assert.deepEqual(await rulesOf(mesh), [`a ${["b", "c"][applied]} tcp 443 policy active`]);
  }
});

Deno.test("the same policy is applied by two at once, in steps → each rule once, both end with nothing remaining", async () => {
  const { mesh } = file;
  await startOver(mesh);
  const policy = policyOf([{ from: "a", to: "b", ports: agentNames(20).map((_, n) => n + 1) }]);
  const expect = (await plan(mesh, policy)).fingerprint;
  const added = await Promise.all([0, 1].map(async () => {
    let sum = 0;
    for (;;) {
      const step = await apply(mesh, { policy, expect, max_changes: 3 });
      sum += step.added;
      if (step.remaining === 0) return sum;
    }
  }));
  assert.equal(added[0]! + added[1]!, 20);
  assert.equal((await rulesOf(mesh)).length, 20);
});

Deno.test("32 agents enrol at once with tags that the policy connects → each sees all others", async () => {
  const { mesh } = file;
  await startOver(mesh);
  await putInForce(mesh, [{ from: "tag:fleet", to: "tag:fleet" }]);
  const { enrolment_key } = await mesh.call<{ enrolment_key: string }>("put_enrolment", {
    caller: { kind: "operator" },
    enrolment: {
      kind: "key",
      tags: ["tag:fleet"],
      agent_template: "{agent_name}",
      uses_left: null,
      session_seconds: 60,
    },
  });
  const fleet = Array.from({ length: 32 }, (_, index) => `fleet-${index}`);
  await Promise.all(fleet.map(async (agent_name) => {
    await untilDone(() =>
      mesh.call("enrol_with_key", {
        caller: { kind: "enrolment" },
        enrolment_key_hash: createHash("sha256").update(enrolment_key).digest("hex"),
        agent_name,
      })
    );
    await untilDone(() => mesh.register(agent_name));
  }));
  for (const agent of fleet) {
    assert.equal((await mesh.configuration(agent))?.peers.length, 31);
  }
  assert.equal((await rulesOf(mesh)).length, 32 * 31);
});
