/** Adds a test's rules to the deployment's policy. */
import assert from "node:assert/strict";
import { parsePolicy } from "../../../packages/operator/policy/policy_file.ts";
import { type Answer, type JsonObject, operatorRpc } from "../client.ts";

export interface Rule {
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly ports: readonly number[];
  readonly proto: "tcp" | "udp";
}

/** Runs `run` while the policy also has these rules, then restores the previous policy. */
export async function withPolicyRules(
  rules: readonly Rule[],
  run: () => Promise<void>,
): Promise<void> {
  const before = await operatorRpc<{ source: string } | null>("read_policy", {});
  const source = before.body?.source ?? `{ "rules": [] }`;
  const own = parsePolicy(source, "the policy in force").rules;
  await putInForce(`// of a test ${crypto.randomUUID()}\n${source}`, [...own, ...rules]);
  try {
    await run();
  } finally {
    await putInForce(source, own);
  }
}

async function putInForce(source: string, rules: readonly Rule[]): Promise<void> {
  const policy = { source, rules } as unknown as JsonObject;
  const plan = await operatorRpc<{ fingerprint: string }>("plan_policy", { policy });
  let step: Answer<{ remaining: number }>;
  do {
    step = await operatorRpc("apply_policy", { policy, expect: plan.body.fingerprint });
    assert.equal(step.status, 200, JSON.stringify(step.body));
  } while (step.body.remaining > 0);
}
