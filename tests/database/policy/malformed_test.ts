/** Policies that the SQL functions refuse from any caller. Only the tasks check files. */
import assert from "node:assert/strict";
import { meshDatabaseForThisFile, Refusal } from "../mesh/mesh_database.ts";
import {
  plan,
  type Policy,
  policyOf,
  putInForce,
  rulesOf,
  startOver,
  stateOf,
} from "./policy_database.ts";

const file = meshDatabaseForThisFile();

const RIGHT = policyOf([{ from: "tag:a", to: "b", ports: [1, 65535] }], ["agent-1"]);
const RULE = RIGHT.rules[0]!;

const withRule = (fields: Record<string, unknown>) => ({
  ...RIGHT,
  rules: [RULE, { ...RULE, ...fields }],
});

/** `RIGHT`, each time with one fault. */
const MALFORMED: Readonly<Record<string, unknown>> = {
  "null": null,
  "a text": "policy",
  "a list": [RIGHT],
  "nothing": {},
  "no source": { ...RIGHT, source: undefined },
  "a source that is a number": { ...RIGHT, source: 1 },
  "a source of more than 256 KiB": { ...RIGHT, source: "a".repeat(256 * 1024 + 1) },
  "no rules": { ...RIGHT, rules: undefined },
  "rules that are null": { ...RIGHT, rules: null },
  "rules that are an object": { ...RIGHT, rules: RULE },
  "a rule that is null": { ...RIGHT, rules: [null] },
  "a rule that is a text": { ...RIGHT, rules: [RULE, "accept"] },
  "a list in the place of a rule": { ...RIGHT, rules: [[RULE]] },
  ...Object.fromEntries(
    ["from", "to", "ports", "proto"].flatMap((name) => [
      [`a rule without ${name}`, withRule({ [name]: undefined })],
      [`${name} that is null`, withRule({ [name]: null })],
      [`${name} that is an object`, withRule({ [name]: {} })],
    ]),
  ),
  "from that is a text": withRule({ from: "tag:a" }),
  "to that has a list": withRule({ to: [["b"]] }),
  "from that has a number": withRule({ from: [1] }),
  "from that has null": withRule({ from: [null] }),
  "a tag with a capital letter": withRule({ from: ["tag:A"] }),
  "a tag without a name": withRule({ to: ["tag:"] }),
  "an agent with a space": withRule({ to: ["a b"] }),
  "an agent of 129 characters": withRule({ to: ["a".repeat(129)] }),
  "port 0": withRule({ ports: [0] }),
  "port 65536": withRule({ ports: [443, 65_536] }),
  "port 1.5": withRule({ ports: [1.5] }),
  "a port that is a text": withRule({ ports: ["443"] }),
  "a port that is null": withRule({ ports: [null] }),
  "ports in a list": withRule({ ports: [[443]] }),
  "icmp": withRule({ proto: "icmp" }),
  "TCP": withRule({ proto: "TCP" }),
  "protocols in a list": withRule({ proto: ["tcp"] }),
  "agents that are a text": { ...RIGHT, agents: "agent-1" },
  "an agent in a list": { ...RIGHT, agents: [["agent-1"]] },
  "an agent that is a number": { ...RIGHT, agents: [1] },
};

Deno.test("plan_policy and apply_policy of every malformed policy → 422 invalid_request that names the policy, and nothing changes", async () => {
  const { mesh } = file;
  await startOver(mesh);
  await putInForce(mesh, [{ from: "a", to: "b" }]);
  const before = await stateOf(mesh);
  const isRefusal = (error: unknown) =>
    error instanceof Refusal && error.sqlstate === "PT422" && error.message === "invalid_request";
  const { fingerprint } = await plan(mesh, RIGHT);
  for (const [what, policy] of Object.entries(MALFORMED)) {
    await assert.rejects(plan(mesh, policy as Policy), isRefusal, `plan: ${what}`);
    for (const expect of [fingerprint, "0".repeat(64)]) {
      await assert.rejects(
        mesh.call("apply_policy", { policy, expect }),
        isRefusal,
        `apply: ${what}`,
      );
    }
  }
  assert.deepEqual(await stateOf(mesh), before);
  assert.deepEqual(await rulesOf(mesh), ["a b tcp 443 policy active"]);
  assert.equal((await plan(mesh, { ...RIGHT, rules: [] })).rules.removed, 1);
});
