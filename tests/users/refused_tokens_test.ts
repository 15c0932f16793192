import assert from "node:assert/strict";
import { leavesUnchanged as leavesArtifactsUnchanged } from "../conformance/artifacts.ts";
import { type Agent, ANON_KEY, SECRET_KEY, send } from "../conformance/client.ts";
import { assertUnauthenticated } from "../conformance/credentials.ts";
import { leavesUnchanged as leavesMeshUnchanged } from "../conformance/mesh_cast.ts";
import type { ValidRequest } from "../mutations/mutants.ts";
import { arrangeValidRequests } from "../mutations/valid_requests.ts";
import { operatorRpc } from "../conformance/client.ts";
import { agentsIn, isIdentified, sent } from "./requests.ts";
import { refusedTokens } from "./refused_tokens.ts";
import { signIn } from "./signed_in.ts";

async function leavesUnchanged(agents: readonly Agent[], refused: () => Promise<void>) {
  await leavesArtifactsUnchanged(agents, () => leavesMeshUnchanged(agents, refused));
}

/** Sends `request` with this token, and a secret key in `apikey` that must not be used instead. */
function withToken(request: ValidRequest, token: string): Promise<
  Parameters<
    typeof assertUnauthenticated
  >[0]
> {
  return sent({ ...request, headers: { ...request.headers, apikey: SECRET_KEY } }, token);
}

/** Every operation is asked with each `STRIDE`-th token, and each token at each `STRIDE`-th one. */
const STRIDE = 6;

Deno.test("operations with tokens that are not a signed-in user's → 401, whatever apikey says, and nothing changes", async (test) => {
  const requests = (await arrangeValidRequests()).filter(isIdentified);
  assert.ok(requests.length > 20);
  const agents = await agentsIn(requests);
  const [owner] = agents as [Agent];
  await leavesUnchanged(agents, async () => {
    for (const [index, [what, token]] of Object.entries(refusedTokens(owner.id)).entries()) {
      await test.step(what, async () => {
        // Who calls is decided before the operation, at one place.
        for (const request of requests.filter((_, other) => (index + other) % STRIDE === 0)) {
          assertUnauthenticated(await withToken(request, token));
        }
      });
    }
  });
  // A token without a fault is accepted.
  const user = await signIn(owner);
  const whoami = await send("/agent-artifacts/whoami", {
    headers: { authorization: `Bearer ${user.key}` },
  });
  assert.equal(whoami.status, 200);
  for (const { id } of agents) await operatorRpc("remove_agent", { agent_id: id });
});

Deno.test("a user's token in apikey → 401, alone and beside a public key", async () => {
  const user = await signIn({ id: "ada" });
  const ways: Record<string, string>[] = [
    { apikey: user.key },
    { apikey: user.key, authorization: `Bearer ${ANON_KEY}` },
    { apikey: user.key, authorization: `Bearer ${SECRET_KEY}` },
    { authorization: user.key },
    { authorization: `Basic ${user.key}` },
  ];
  for (const headers of ways) {
    assertUnauthenticated(await send("/agent-artifacts/whoami", { headers }));
  }
});
