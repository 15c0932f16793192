import assert from "node:assert/strict";
import {
  artifactTest,
  grant,
  leavesUnchanged,
  listed,
  type ListPage,
  publish,
  redeem,
} from "./artifacts.ts";
import {
  ANON_KEY,
  assertError,
  assertInvalid,
  type JsonObject,
  post,
  PUBLISHABLE_KEY,
  SECRET_KEY,
  send,
  SERVICE_ROLE_KEY,
} from "./client.ts";
import { cardsOf } from "../operations/cards.ts";
import { assertUnauthenticated, listWith, UNKNOWN_AGENT_KEY } from "./credentials.ts";

/** A token with these claims and an invalid signature. */
function forgedToken(claims: Record<string, unknown>): string {
  const part = (value: unknown) =>
    btoa(JSON.stringify(value)).replaceAll("=", "").replaceAll("+", "-").replaceAll("/", "_");
  return `${part({ alg: "HS256", typ: "JWT" })}.${part(claims)}.c2lnbmF0dXJl`;
}

const FORGED_USER = forgedToken({ role: "authenticated", app_metadata: { agent_id: "planner" } });

const FORGED_OPERATOR = forgedToken({ role: "service_role", iss: "supabase" });

artifactTest("/list with Bearer ak_… → as that agent", async ({ planner }) => {
  const answer = await listWith(planner, { authorization: `Bearer ${planner.key}` });
  assert.equal(answer.status, 200);
  const lowerCase = await listWith(planner, { authorization: `bearer ${planner.key}` });
  assert.equal(lowerCase.status, 200);
});

artifactTest(
  "/list with Bearer ak_… beside any apikey → as that agent",
  async ({ planner, stranger }) => {
    for (const apikey of [PUBLISHABLE_KEY ?? "sb_publishable_x", SECRET_KEY, "junk", FORGED_USER]) {
      const headers = { authorization: `Bearer ${planner.key}`, apikey };
      assert.equal((await listWith(planner, headers)).status, 200, apikey.slice(0, 8));
      assertError(await listWith(stranger, headers), 403, "forbidden");
    }
  },
);

artifactTest(
  "/list with a Bearer ak_… of a form that no key has → 401 before the body is read",
  async ({ planner }) => {
    for (
      const bad of [
        "ak_",
        "ak_short",
        `ak_${"g".repeat(64)}`,
        `${planner.key}0`,
        planner.key.toUpperCase().replace("AK_", "ak_") + "F",
      ]
    ) {
      const answer = await send("/agent-artifacts/list", {
        method: "POST",
        body: "not json",
        headers: { authorization: `Bearer ${bad}`, apikey: SECRET_KEY },
      });
      assertUnauthenticated(answer);
    }
  },
);

artifactTest("/list with a key and a no-break space → 401", async ({ planner }) => {
  const spoilt: Record<string, string>[] = [
    { authorization: `Bearer ${planner.key}\u00a0` },
    { authorization: `Bearer \u00a0${planner.key}` },
    { authorization: `\u00a0Bearer ${planner.key}` },
    { authorization: `Bearer ${SECRET_KEY}\u00a0` },
    { apikey: `${SECRET_KEY}\u00a0` },
    { apikey: `\u00a0${SECRET_KEY}` },
  ];
  for (const headers of spoilt) assertUnauthenticated(await listWith(planner, headers));
});

artifactTest("/list with an unknown agent key → 400, 413 and 422 come before 401", async () => {
  const headers = { authorization: `Bearer ${UNKNOWN_AGENT_KEY}` };
  const path = "/agent-artifacts/list";
  const request = { method: "POST", headers };
  assertError(await send(path, { ...request, body: "[" }), 400, "invalid_json");
  assertError(await send(path, { ...request, body: "x".repeat(65_537) }), 413, "body_too_large");
  assertInvalid(await send(path, { ...request, body: '{"agent_id": ""}' }), "agent_id");
  assertUnauthenticated(await send(path, { ...request, body: '{"agent_id": "planner"}' }));
});

artifactTest(
  "every path with an unknown agent key → 401, whatever the request names, and nothing changes",
  async ({ planner, builder }) => {
    const as = { headers: { authorization: `Bearer ${UNKNOWN_AGENT_KEY}`, apikey: SECRET_KEY } };
    const enrolment_id = `enr_${"0".repeat(32)}`;
    const artifact = await publish(planner);
    await grant(planner, artifact, { to: builder });
    await leavesUnchanged([planner, builder], async () => {
      for (const artifact_id of [artifact.artifact_id, `art_${"0".repeat(32)}`, "no such form"]) {
        for (const [path, { asks }] of cardsOf("agent-artifacts")) {
          if (typeof asks === "string") continue;
          const body = asks({ one: planner, other: builder, artifact_id, enrolment_id });
          assertUnauthenticated(await post(`/agent-artifacts${path}`, { as, body }));
        }
      }
    });
  },
);

artifactTest(
  "/list with the secret key, in apikey or as Bearer → as the operator, for any agent",
  async ({ planner }) => {
    await publish(planner, { key: "k" });
    const ways: Record<string, string>[] = [
      { apikey: SECRET_KEY },
      { authorization: `Bearer ${SECRET_KEY}` },
      { apikey: SECRET_KEY, authorization: `Bearer ${SECRET_KEY}` },
    ];
    for (const publicKey of [PUBLISHABLE_KEY, ANON_KEY]) {
      if (!publicKey) continue;
      ways.push({ apikey: SECRET_KEY, authorization: `Bearer ${publicKey}` });
      ways.push({ apikey: publicKey, authorization: `Bearer ${SECRET_KEY}` });
    }
    for (const headers of ways) {
      const answer = await listWith(planner, headers);
      assert.equal(answer.status, 200, JSON.stringify(Object.keys(headers)));
      assert.equal((answer.body as unknown as ListPage).artifacts.length, 1);
    }
  },
);

artifactTest(
  "/list with the legacy service_role key alone → as /health says: as the operator, or 401 and why",
  async ({ planner }) => {
    if (!SERVICE_ROLE_KEY) return;
    const { body } = await send("/agent-artifacts/health", { headers: { apikey: SECRET_KEY } });
    // This deployment has no legacy key.
    if (body["legacy_key"] === undefined) return;
    const isRefused = body["legacy_key"] === "refused";
    const ways: Record<string, string>[] = [
      { apikey: SERVICE_ROLE_KEY },
      { authorization: `Bearer ${SERVICE_ROLE_KEY}` },
      { apikey: SERVICE_ROLE_KEY, authorization: `Bearer ${SERVICE_ROLE_KEY}` },
    ];
    for (const publicKey of [PUBLISHABLE_KEY, ANON_KEY]) {
      if (!publicKey) continue;
      ways.push({ apikey: publicKey, authorization: `Bearer ${SERVICE_ROLE_KEY}` });
      ways.push({ apikey: SERVICE_ROLE_KEY, authorization: `Bearer ${publicKey}` });
    }
    await leavesUnchanged([planner], async () => {
      for (const headers of ways) {
        const answer = await listWith(planner, headers);
        if (!isRefused) assert.equal(answer.status, 200);
        else {
          assertUnauthenticated(answer);
          const { message, details } = answer.body["error"] as JsonObject;
          assert.match(String(message), /legacy service_role key/);
          assert.deepEqual(details, { legacy_key: "refused" });
        }
      }
    });
    // Supabase's gateways add the legacy key to requests with a secret key.
    const authorization = `Bearer ${SERVICE_ROLE_KEY}`;
    const asOperator = await listWith(planner, { apikey: SECRET_KEY, authorization });
    assert.equal(asOperator.status, 200);
  },
);

artifactTest("/list with no credential, or with public ones alone → 401", async ({ planner }) => {
  assertUnauthenticated(await listWith(planner, {}));
  for (const key of [PUBLISHABLE_KEY, ANON_KEY, "sb_publishable_of_another_project"]) {
    if (!key) continue;
    assertUnauthenticated(await listWith(planner, { apikey: key }));
    assertUnauthenticated(await listWith(planner, { authorization: `Bearer ${key}` }));
    assertUnauthenticated(await listWith(planner, { apikey: key, authorization: `Bearer ${key}` }));
  }
});

artifactTest(
  "/list with a wrong credential → 401, even where the other header holds a right one",
  async ({ planner }) => {
    const wrong = [
      "junk",
      FORGED_USER,
      FORGED_OPERATOR,
      `${SECRET_KEY}x`,
      SECRET_KEY.slice(0, -1),
      "sb_secret_wrong",
      ...(SERVICE_ROLE_KEY ? [`${SERVICE_ROLE_KEY}A`] : []),
    ];
    for (const bearer of wrong) {
      const authorization = `Bearer ${bearer}`;
      assertUnauthenticated(await listWith(planner, { authorization }));
      assertUnauthenticated(await listWith(planner, { authorization, apikey: SECRET_KEY }));
    }
    for (const apikey of wrong) {
      assertUnauthenticated(await listWith(planner, { apikey }));
      const authorization = `Bearer ${SECRET_KEY}`;
      assertUnauthenticated(await listWith(planner, { apikey, authorization }));
    }
    for (const authorization of ["Basic dXNlcjpwYXNz", "Bearer", planner.key]) {
      assertUnauthenticated(await listWith(planner, { authorization, apikey: SECRET_KEY }));
    }
  },
);

artifactTest(
  "/fetch with any credential header, right or wrong → as without it",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const { token } = await grant(planner, artifact, { to: builder });
    for (
      const headers of [
        { authorization: "Bearer ak_malformed" },
        { authorization: `Bearer ${UNKNOWN_AGENT_KEY}` },
        { authorization: `Bearer ${FORGED_USER}`, apikey: "junk" },
        { apikey: SECRET_KEY },
      ]
    ) {
      const answer = await post("/agent-artifacts/fetch", {
        as: { headers },
        body: { grant_token: token },
      });
      assert.equal(answer.status, 200);
      const refused = await post("/agent-artifacts/fetch", {
        as: { headers },
        body: { grant_token: "g_no" },
      });
      assertError(refused, 404, "grant_not_found");
    }
    assert.equal((await redeem(token)).status, 200);
  },
);

artifactTest(
  "/register, /list, /inbox in another agent's name → 403, whether it exists or not, no change",
  async ({ planner, stranger }) => {
    const register = { key: "k", mime: "text/plain", size: 1, ttl_days: 1 };
    for (const agent_id of [planner.id, "nobody-by-this-name"]) {
      for (const [path, body] of Object.entries({ register, list: {}, inbox: {} })) {
        const answer = await post(`/agent-artifacts/${path}`, {
          as: stranger,
          body: { ...body, agent_id },
        });
        assertError(answer, 403, "forbidden");
      }
    }
    assert.deepEqual(await listed(planner), []);
  },
);

Deno.test("/register by the operator for an agent that never had a key → 200", async () => {
  const agent_id = `keyless-${crypto.randomUUID()}`;
  const registered = await post("/agent-artifacts/register", {
    as: "operator",
    body: { agent_id, key: "k", mime: "text/plain", size: 0, ttl_days: 1 },
  });
  assert.equal(registered.status, 200);
  assert.equal(registered.body["agent_id"], agent_id);
  await post("/agent-artifacts/delete", {
    as: "operator",
    body: { artifact_id: registered.body["artifact_id"] },
  });
});
