import assert from "node:assert/strict";
import {
  artifactTest,
  givenGrants,
  leavesUnchanged,
  publish,
  register,
  secondsFromNow,
  tryRegister,
  upload,
} from "./artifacts.ts";
import {
  type Answer,
  assertError,
  assertInvalid,
  createAgent,
  endCreatedAgents,
  type JsonObject,
  post,
} from "./client.ts";
import { leavesUnchanged as leavesMeshUnchanged, meshTest, pairUp } from "./mesh_cast.ts";
import { newName } from "./enrolment/enrolments.ts";
import { assertToolError, connect } from "./mcp/mcp_client.ts";
import { cardsOf, FUNCTIONS } from "../operations/cards.ts";

Deno.test.afterEach(endCreatedAgents);

/** The issues of a refusal, as `path: message`. */
function issuesOf(answer: Answer<unknown>): string[] {
  const { issues } = assertError(answer, 422, "invalid_request") as unknown as {
    issues: { path: string; message: string }[];
  };
  return issues.map(({ path, message }) => `${path}: ${message}`);
}

for (const name of FUNCTIONS) {
  for (const [path] of cardsOf(name)) {
    Deno.test(`${name}${path} with an unknown field → 422 with its name`, async () => {
      const answer = await post(`/${name}${path}`, { as: "operator", body: { colour: "blue" } });
      assert.ok(issuesOf(answer).includes("colour: Unknown field."), JSON.stringify(answer.body));
    });
  }
}

/** As many as fit into a request. */
const MANY = Object.fromEntries(Array.from({ length: 6_500 }, (_, n) => [`_${n.toString(36)}`, 1]));

for (
  const [name, operation] of [["agent-artifacts", "list"], ["agent-mesh", "netmap"]] as const
) {
  Deno.test(`${name}/${operation} and its tool with 6,500 unknown fields → the first 100, and how many more`, async () => {
    const agent = await createAgent("planner");
    const answer = await post(`/${name}/${operation}`, { as: agent, body: MANY });
    await using client = await connect(name, agent);
    const called = await client.call(operation, MANY);
    for (
      const { issues } of [
        assertError(answer, 422, "invalid_request"),
        assertToolError(called, "invalid_request"),
      ] as unknown as { issues: { path: string; message: string }[] }[]
    ) {
      assert.equal(issues.length, 101);
      assert.deepEqual(issues[0], { path: "_0", message: "Unknown field." });
      assert.deepEqual(issues[100], { path: "", message: "6400 more fields have issues." });
    }
    assert.ok(JSON.stringify(answer.body).length < 8_000);
  });
}

artifactTest(
  "/grant with mistyped limits → 422 with the fields that were meant, and nothing is granted",
  async ({ planner }) => {
    const { artifact_id } = await publish(planner);
    const right = { artifact_id, expires_at: secondsFromNow(600) };
    const mistyped: readonly [field: string, meant: string][] = [
      ["to_agnt", "to_agent"],
      ["toAgent", "to_agent"],
      ["to-agent", "to_agent"],
      ["agent", "to_agent"],
      ["max_download", "max_downloads"],
      ["downloads", "max_downloads"],
      ["tag", "to_tag"],
    ];
    for (const [field, meant] of mistyped) {
      const body = { ...right, [field]: 1 };
      const answer = await post("/agent-artifacts/grant", { as: planner, body });
      assert.deepEqual(issuesOf(answer), [`${field}: Unknown field. Did you mean ${meant}?`]);
    }
    const both = { artifact_id, to_agnt: "builder", max_download: 1 };
    assertInvalid(
      await post("/agent-artifacts/grant", { as: planner, body: both }),
      "to_agnt",
      "max_download",
      "expires_at",
    );
    assert.deepEqual((await givenGrants(planner)).grants, []);
  },
);

artifactTest(
  "/list, /inbox, /open, /revoke and /delete with an unknown field → 422, and nothing has changed",
  async ({ planner, builder }) => {
    const { artifact_id } = await publish(planner);
    const requests: readonly [path: string, body: JsonObject, field: string][] = [
      ["/list", { prefx: "reports/" }, "prefx"],
      ["/inbox", { from: "planner" }, "from"],
      ["/grants", { agnt_id: planner.id }, "agnt_id"],
      ["/open", { artifact_id, maxSize: 1 }, "maxSize"],
      ["/revoke", { artifact_id, to_agent: builder.id, dry_run: true }, "dry_run"],
      ["/delete", { artifact_id, dry_run: true }, "dry_run"],
      ["/delete", { artifact_id, agent_id: planner.id }, "agent_id"],
    ];
    await leavesUnchanged([planner, builder], async () => {
      for (const [path, body, field] of requests) {
        assertInvalid(await post(`/agent-artifacts${path}`, { as: planner, body }), field);
      }
    });
  },
);

artifactTest(
  "/register with fields of its answer, and with __proto__ and constructor → 422, and nothing is registered",
  async ({ planner }) => {
    const right = { agent_id: planner.id, key: "k", mime: "text/plain", size: 1, ttl_days: 1 };
    const wrong = { ...right, state: "committed", ["__proto__"]: { admin: true }, constructor: 1 };
    await leavesUnchanged([planner], async () => {
      assertInvalid(await tryRegister(planner, wrong), "state", "__proto__", "constructor");
    });
    assert.equal(await upload((await register(planner)).upload_url, "hello"), 200);
  },
);

Deno.test("an unknown field and no valid credential → 422, as for any bad field", async () => {
  const as = { headers: { authorization: `Bearer ak_${"0".repeat(64)}` } };
  assertInvalid(await post("/agent-artifacts/list", { as, body: { prefx: "" } }), "prefx");
});

meshTest(
  "/wait and /peer/heartbeat with an unknown field of a path → 422 with its place, and no path is reported",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    const path = { agent_id: bob.id, handshake_age_seconds: 1, endpoint: null, via: "direct" };
    const body = { paths: [path, { ...path, agent_id: "x", handshake_age: 1 }] };
    await leavesMeshUnchanged([alice, bob], async () => {
      for (const operation of ["peer/heartbeat", "wait"]) {
        const answer = await post(`/agent-mesh/${operation}`, { as: alice, body });
        assert.deepEqual(issuesOf(answer), ["paths.1.handshake_age: Unknown field."]);
      }
    });
  },
);

Deno.test("/enrolment/put with an unknown field of a condition → 422 with its place", async () => {
  const body = {
    kind: "trust",
    label: newName("unknown-field"),
    issuer: "https://issuer.example.com",
    audience: "https://agents.example.com",
    conditions: [{ claim: "sub", equal: "a" }],
    agent_template: "{sub}",
  };
  const answer = await post("/agent-artifacts/enrolment/put", { as: "operator", body });
  assert.ok(
    issuesOf(answer).includes("conditions.0.equal: Unknown field. Did you mean equals?"),
    JSON.stringify(answer.body),
  );
});

artifactTest(
  "/revoke with the request of /grant → 200, as it is",
  async ({ planner, builder }) => {
    const { artifact_id } = await publish(planner);
    const body = {
      artifact_id,
      to_agent: builder.id,
      expires_at: secondsFromNow(600),
      max_downloads: 3,
    };
    await post("/agent-artifacts/grant", { as: planner, body });
    const revoked = await post("/agent-artifacts/revoke", { as: planner, body });
    assert.equal(revoked.body["revoked"], 1);
  },
);
