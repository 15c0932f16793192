import assert from "node:assert/strict";
import { artifactTest } from "../../../../tests/conformance/artifacts.ts";
import { withPolicyRules } from "../../../../tests/conformance/policy/in_force.ts";
import { withForms } from "./forms.ts";

artifactTest(
  "a rule of the policy → shown as such without a way to end it, and refused with the reason",
  async ({ planner, builder }) => {
    const policy = {
      from: [planner.id],
      to: [builder.id],
      ports: [443],
      proto: "tcp" as const,
    };
    await withPolicyRules([policy], async () => {
      await withForms(async (forms) => {
        const { text } = await forms.open(`agents/${planner.id}`);
        assert.ok(text.includes("active, from the policy"), text);
        assert.doesNotMatch(text, /act\/rule\.end/);
        const rule = { from_agent: planner.id, to_agent: builder.id, port: "443", proto: "tcp" };
        const refused = await forms.open(`act/rule.end?${new URLSearchParams(rule)}`);
        assert.equal(refused.status, 409);
        assert.match(refused.text, /The rule for tcp 443 comes from the policy/);
        assert.doesNotMatch(refused.text, /method="post"/);
      });
    });
  },
);
