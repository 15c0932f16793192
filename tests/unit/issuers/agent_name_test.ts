import assert from "node:assert/strict";
import fc from "fast-check";
import { agentIdOf } from "../../../supabase/functions/_shared/identity/issuers/agent_name.ts";
import { AGENT_ID } from "../../../supabase/functions/_shared/identity/named_ids.ts";

const RUNS = 10_000;

/** Values that are easily confused: short, of few letters, some of which names cannot hold. */
const value = fc.oneof(
  fc.string({
    minLength: 1,
    maxLength: 4,
    unit: fc.constantFrom("a", "b", "-", ".", "/", ":", "A"),
  }),
  fc.string({ minLength: 1, maxLength: 200 }),
  fc.constantFrom("a".repeat(128), "a".repeat(129), "é", "1", "01"),
);

Deno.test(`two subjects, ${RUNS} pairs → two agents, each with a name that an agent can have`, () => {
  const templates = ["{a}", "ci-{a}", "{a}-{b}", "{a}{b}", "x.{a}.{b}.y"];
  fc.assert(
    fc.property(
      fc.constantFrom(...templates),
      fc.tuple(value, value),
      fc.tuple(value, value),
      (template, [a, b], [c, d]) => {
        const names = [agentIdOf(template, { a, b }), agentIdOf(template, { a: c, b: d })];
        for (const name of names) assert.match(name as string, AGENT_ID);
        const isSame = a === c && (b === d || !template.includes("{b}"));
        assert.equal(names[0] === names[1], isSame);
      },
    ),
    { numRuns: RUNS },
  );
});

Deno.test("a subject whose name tells everything → that name; the same again → the same", () => {
  assert.equal(agentIdOf("ci-{run_id}", { run_id: "7" }), "ci-7");
  assert.equal(agentIdOf("ci-{run_id}", { run_id: 7 }), "ci-7");
  assert.equal(agentIdOf("{ns}.{pod}", { ns: "eu", pod: "a1" }), "eu.a1");
  const reduced = agentIdOf("{sub}", { sub: "spiffe://example.org/a" }) as string;
  assert.match(reduced, /^spiffe:--example\.org-a\.[0-9a-f]{20}$/);
  // A subject that equals another subject's reduced name gets a different name.
  assert.notEqual(agentIdOf("{sub}", { sub: reduced }), reduced);
});

Deno.test("a claim that is missing, empty or no text → no name, and which claim it is", () => {
  assert.deepEqual(agentIdOf("{sub}", {}), { reason: "claim_missing", claim: "sub" });
  assert.deepEqual(agentIdOf("{sub}", { sub: "" }), { reason: "claim_missing", claim: "sub" });
  assert.deepEqual(agentIdOf("{sub}", { sub: ["a"] }), { reason: "claim_differs", claim: "sub" });
  assert.deepEqual(agentIdOf("{sub}", { sub: null }), { reason: "claim_differs", claim: "sub" });
});
