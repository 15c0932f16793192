import assert from "node:assert/strict";
import { namedIds } from "../../../supabase/functions/_shared/identity/named_ids.ts";

const ARTIFACT = `art_${"0".repeat(32)}`;

Deno.test("a body → the ids of agents, artifacts, grants, takes and enrolments; no key, no token, nothing else", () => {
  assert.deepEqual(
    namedIds({
      agent_id: "planner",
      to_agent: "builder@example",
      artifact_id: ARTIFACT,
      grant_id: `grant_${"1".repeat(32)}`,
      take_id: `take_${"4".repeat(32)}`,
      enrolment_id: `enr_${"2".repeat(32)}`,
      enrolment_key: `ek_${"3".repeat(64)}`,
      key: "plans/secret.txt",
      grant_token: `g_${"a".repeat(43)}`,
      prefix: "plans/",
      limit: 5,
      from_agent: undefined,
    }),
    {
      agent_id: "planner",
      to_agent: "builder@example",
      artifact_id: ARTIFACT,
      grant_id: `grant_${"1".repeat(32)}`,
      take_id: `take_${"4".repeat(32)}`,
      enrolment_id: `enr_${"2".repeat(32)}`,
    },
  );
});

Deno.test("a key or a token in the place of an id → not named", () => {
  const secrets = [
    `ak_${"0".repeat(64)}`,
    `ek_${"0".repeat(64)}`,
    `g_${"a".repeat(43)}`,
    "sb_secret_0123456789abcdef",
    "eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoic2VydmljZV9yb2xlIn0.c2lnbmF0dXJl",
    `${"A".repeat(43)}=`,
  ];
  for (const secret of secrets) {
    const fields = [
      "agent_id",
      "to_agent",
      "from_agent",
      "a",
      "b",
      "artifact_id",
      "grant_id",
      "take_id",
      "enrolment_id",
    ];
    assert.deepEqual(namedIds(Object.fromEntries(fields.map((field) => [field, secret]))), {});
  }
});
