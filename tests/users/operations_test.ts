import assert from "node:assert/strict";
import { leavesUnchanged } from "../conformance/artifacts.ts";
import {
  type Agent,
  type Answer,
  assertError,
  createAgent,
  operatorRpc,
  post,
  send,
} from "../conformance/client.ts";
import { arrangeValidRequests } from "../mutations/valid_requests.ts";
import { operationsOf } from "../faults/points/code.ts";
import { agentsIn, isIdentified, keyIn, sent } from "./requests.ts";
import { newName, signIn } from "./signed_in.ts";

/** Operations about the caller itself, or what was granted to it: every agent may call them. */
const OF_THE_CALLER = /\/(?:whoami|mcp|versions)$/;

/** Nobody else's take is the caller's: it is answered as one that is over. */
const REFUSED = /^(?:40[34] |409 take_lapsed$)/;

/** The stack has no relay. */
const WITHOUT_RELAY = "503 misconfigured";

async function end(agents: readonly Agent[]): Promise<void> {
  for (const { id } of agents) await operatorRpc("remove_agent", { agent_id: id });
}

function verdictOf({ status, body }: Answer): string {
  return `${status} ${(body["error"] as { code?: string } | undefined)?.code ?? ""}`;
}

Deno.test("the valid requests, which mutations begin with too → one of every operation at least", async () => {
  const requests = await arrangeValidRequests();
  const paths = requests.map(({ path }) => path.replace(/\/d\/.+$/, "/d/:grant_token"));
  // /health ignores everything in a request, so there is no request for it.
  const operations = (["agent-artifacts", "agent-mesh"] as const).flatMap(operationsOf).sort()
    .filter((path) => !path.endsWith("/health"));
  assert.deepEqual([...new Set(paths)].sort(), operations);
  await end(await agentsIn(requests.filter(isIdentified)));
});

Deno.test("every operation of an agent by a user who is that agent → 200, as by its key", async (test) => {
  const requests = (await arrangeValidRequests()).filter(isIdentified)
    .filter(({ headers }) => keyIn(headers) !== undefined)
    // A request with a grant_id names no agent.
    .filter(({ body }) => !("grant_id" in body));
  const agents = await agentsIn(requests);
  for (const request of requests) {
    await test.step(request.path, async () => {
      const agent = agents.find(({ key }) => key === keyIn(request.headers))!;
      const answer = await sent(request, (await signIn(agent)).key);
      const expected = request.path.endsWith("/relay") ? WITHOUT_RELAY : "200 ";
      assert.equal(verdictOf(answer), expected, JSON.stringify(answer.body));
      if (request.path.endsWith("/mcp")) assert.ok(!("isError" in Object(answer.body["result"])));
    });
  }
  await end(agents);
});

Deno.test("every operation on another agent's things by a user → what a key is answered, and nothing changes", async (test) => {
  const requests = (await arrangeValidRequests()).filter(isIdentified)
    .filter(({ path }) => !OF_THE_CALLER.test(path));
  const agents = await agentsIn(requests);
  const stranger = await createAgent("stranger");
  const user = await signIn(newName("visitor"));
  await leavesUnchanged(agents, async () => {
    for (const { headers, ...request } of requests) {
      await test.step(request.path, async () => {
        const { apikey: _, ...others } = headers;
        const [byKey, byUser] = await Promise.all([
          sent({ ...request, headers: others }, stranger.key),
          sent({ ...request, headers: others }, user.key),
        ]);
        assert.match(verdictOf(byKey), REFUSED);
        assert.equal(verdictOf(byUser), verdictOf(byKey));
      });
    }
  });
  await end([...agents, stranger, user]);
});

for (const name of ["agent-artifacts", "agent-mesh"]) {
  Deno.test(`GET /${name}/whoami by a user → kind user, the agent, and when the token ends`, async () => {
    const user = await signIn(newName("ada"), { seconds: 600 });
    const answer = await send(`/${name}/whoami`, {
      headers: { authorization: `Bearer ${user.key}`, apikey: "sb_publishable_whatever" },
    });
    assert.equal(answer.status, 200);
    const { expires_at, ...others } = answer.body;
    assert.deepEqual(others, { kind: "user", agent_id: user.id, key_id: null, tags: [] });
    const [, claims] = user.key.split(".");
    assert.equal(Date.parse(String(expires_at)) / 1000, JSON.parse(atob(claims!)).exp);
  });
}

Deno.test("a user in another agent's name → 403; the operator for the user's agent → 200", async () => {
  const user = await signIn(newName("ada"));
  const other = { agent_id: newName("grace").id };
  assertError(
    await post("/agent-artifacts/list", { as: user, body: other }),
    403,
    "forbidden",
  );
  assertError(await post("/agent-mesh/netmap", { as: user, body: other }), 403, "forbidden");
  const byOperator = await post("/agent-artifacts/list", {
    as: "operator",
    body: { agent_id: user.id },
  });
  assert.equal(byOperator.status, 200);
});
