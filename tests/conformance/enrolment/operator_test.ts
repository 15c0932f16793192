/** Operations reserved for the operator, and fields that an enrolment cannot have. */
import assert from "node:assert/strict";
import {
  assertError,
  assertInvalid,
  createAgent,
  endCreatedAgents,
  post,
  succeed,
} from "../client.ts";
import { assertUnauthenticated } from "../credentials.ts";
import { endMadeEnrolments, type Enrolment, put, tryPut } from "./enrolments.ts";

Deno.test.afterEach(async () => {
  await endMadeEnrolments();
  await endCreatedAgents();
});

Deno.test("what is the operator's, by an agent → forbidden, and by nobody → 401", async () => {
  const planner = await createAgent("planner");
  const { enrolment_id } = await put();
  const bodies = {
    put: { kind: "key" },
    list: {},
    revoke: { enrolment_id },
    test: { issuer: "https://example.com", claims: {} },
  };
  for (const name of ["agent-artifacts", "agent-mesh"]) {
    for (const [path, body] of Object.entries(bodies)) {
      const url = `/${name}/enrolment/${path}`;
      assertError(await post(url, { as: planner, body }), 403, "forbidden");
      assertUnauthenticated(await post(url, { as: "nobody", body }));
    }
  }
  const { enrolments } = await succeed<{ enrolments: Enrolment[] }>(
    "/agent-artifacts/enrolment/list",
    { as: "operator", body: { limit: 1000 } },
  );
  const listed = enrolments.find((one) => one.enrolment_id === enrolment_id);
  assert.equal(listed?.revoked_at, null);
});

Deno.test("/enrolment/put of fields that do not belong together → 422, and no enrolment is made", async () => {
  const count = async () =>
    (await succeed<{ enrolments: unknown[] }>("/agent-artifacts/enrolment/list", {
      as: "operator",
      body: { limit: 1000 },
    })).enrolments.length;
  const before = await count();
  const trust = { issuer: "https://example.com", audience: "us" };
  for (
    const [body, ...fields] of [
      [{}, "kind"],
      [{ kind: "other" }, "kind"],
      [{ kind: "key", issuer: "https://example.com" }, "issuer"],
      [{ kind: "key", agent_template: "a-{b}" }, "agent_template"],
      [{ kind: "key", single_use_tokens: true }, "single_use_tokens"],
      [{ kind: "key", tags: ["vm"] }, "tags.0"],
      [{ kind: "key", session_seconds: 59 }, "session_seconds"],
      [{ kind: "key", session_seconds: 86_401 }, "session_seconds"],
      [{ kind: "key", ephemeral_seconds: 299 }, "ephemeral_seconds"],
      [{ kind: "key", uses_left: 0 }, "uses_left"],
      [{ kind: "key", agent_id: "-" }, "agent_id"],
      [{ kind: "trust" }, "issuer", "audience", "conditions", "agent_id"],
      [{ kind: "trust", ...trust, conditions: [] }, "conditions"],
      [
        { kind: "trust", ...trust, conditions: [{ claim: "a" }], agent_id: "a" },
        "conditions.0",
      ],
    ] as const
  ) {
    assertInvalid(await tryPut(body as never), ...fields);
  }
  assert.equal(await count(), before);
});
