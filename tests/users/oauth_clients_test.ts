import assert from "node:assert/strict";
import { artifactTest, leavesUnchanged, publish } from "../conformance/artifacts.ts";
import { assertError, SUPABASE_URL } from "../conformance/client.ts";
import { startOwnFunction } from "../own_function/own_function.ts";
import { jwtSecret } from "../../packages/local/tests/storage/own_bucket.ts";
import { shareWithUsers } from "./signed_in.ts";
import { bySecret, claimsOf, written } from "./written_token.ts";

const [LISTED, OTHER] = [crypto.randomUUID(), crypto.randomUUID()];

artifactTest(
  "the token of an OAuth client → 401, unless USER_OAUTH_CLIENT_IDS lists the client; nothing changes",
  async ({ planner }) => {
    const { artifact_id } = await publish(planner);
    await shareWithUsers(planner.id);
    const tokens = async (client_id: unknown) => {
      const claims = { ...claimsOf(planner.id, SUPABASE_URL), client_id };
      const byLegacySecret = {
        header: { alg: "HS256", typ: "JWT" },
        signer: bySecret(await jwtSecret()),
      };
      return [written(claims), written(claims, byLegacySecret)];
    };
    await using closed = await startOwnFunction();
    await using open = await startOwnFunction({
      environment: { USER_OAUTH_CLIENT_IDS: ` ${LISTED.toUpperCase()} ,${crypto.randomUUID()}` },
    });
    const remove = (own: typeof open, token: string) =>
      own.post("/delete", {
        as: { headers: { authorization: `Bearer ${token}` } },
        body: { artifact_id },
      });
    await leavesUnchanged([planner], async () => {
      for (const client_id of [OTHER, "", null, 7, [LISTED], { id: LISTED }, `${LISTED},`]) {
        for (const own of [closed, open]) {
          for (const token of await tokens(client_id)) {
            assertError(await remove(own, token), 401, "unauthenticated");
          }
        }
      }
      for (const token of await tokens(LISTED)) {
        const refused = await remove(closed, token);
        assertError(refused, 401, "unauthenticated");
        const { error } = refused.body as { error: { message: string } };
        assert.match(error.message, /USER_OAUTH_CLIENT_IDS/);
      }
    });
    for (const token of [...await tokens(LISTED), ...await tokens(undefined)]) {
      assert.equal((await remove(open, token)).status, 200);
    }
  },
);
