import assert from "node:assert/strict";
import { join } from "node:path";
import { startHostedFunction } from "../../dev/deploy/hosted_function.ts";
import { packFunctions } from "../../dev/deploy/pack.ts";
import { SECRET_KEY, SUPABASE_URL } from "../conformance/client.ts";
import { jwtSecret } from "../../packages/local/tests/storage/own_bucket.ts";
import { refusedTokens } from "../users/refused_tokens.ts";
import { newName, signIn } from "../users/signed_in.ts";
import { bySecret, claimsOf, written } from "../users/written_token.ts";
import { openTemporaryDirectory } from "./temporary_directory.ts";

Deno.test("users' tokens, under the Deno that hosted projects run → taken and refused as here", async () => {
  await using directory = await openTemporaryDirectory();
  for (const packed of await packFunctions(directory.path)) {
    const process = await startHostedFunction(packed, {
      name: packed.name,
      environment: {
        SUPABASE_URL,
        SUPABASE_SECRET_KEYS: JSON.stringify({ default: SECRET_KEY }),
      },
      logFile: join(directory.path, `${packed.name}.log`),
    });
    try {
      const ask = async (token: string) => {
        const response = await fetch(`${process.url}/${packed.name}/whoami`, {
          headers: { authorization: `Bearer ${token}` },
        });
        const { kind, error } = await response.json();
        return [response.status, kind ?? error.code];
      };
      const name = newName("ada");
      const bySecretOfProject = written(claimsOf(name.id), {
        header: { alg: "HS256", typ: "JWT" },
        signer: bySecret(await jwtSecret()),
      });
      for (const token of [(await signIn(name)).key, bySecretOfProject]) {
        assert.deepEqual(await ask(token), [200, "user"]);
      }
      for (const [what, token] of Object.entries(refusedTokens(name.id))) {
        assert.deepEqual(await ask(token), [401, "unauthenticated"], what);
      }
    } finally {
      await process.stop();
    }
  }
});
