import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { findSecretsInLogs } from "../../dev/checks/log_secrets.ts";
import { newGrantToken } from "../../supabase/functions/_shared/identity/secrets.ts";

function jwt(): string {
  const part = (value: object) => btoa(JSON.stringify(value)).replaceAll("=", "");
  return `${part({ alg: "HS256", typ: "JWT" })}.${part({ url: "incoming/x", exp: 1 })}.${
    "s".repeat(43)
  }`;
}

const SECRETS = {
  "an agent key": () => `ak_${randomBytes(32).toString("hex")}`,
  "a grant token": newGrantToken,
  "a secret key": () => `sb_secret_${randomBytes(16).toString("hex")}`,
  "a JWT, such as a signed URL has": () => `/object/sign/x?token=${jwt()}&download=y`,
  "20 bytes in base64, such as a relay's credential": () => randomBytes(20).toString("base64"),
  "32 bytes in base64, such as a PSK": () => randomBytes(32).toString("base64"),
};

for (const [what, make] of Object.entries(SECRETS)) {
  Deno.test(`findSecretsInLogs() of a log with ${what} → says so, without the secret`, async () => {
    const directory = await Deno.makeTempDir();
    try {
      await Deno.writeTextFile(join(directory, "f.log"), `{"a": 1}\n{"cause": "${make()}"}\n`);
      assert.deepEqual(await findSecretsInLogs(directory), [`f.log holds ${what} in 1 line(s).`]);
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  });
}

Deno.test("findSecretsInLogs() of lines that may be logged → nothing", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const harmless = [
      `{"request_id": "${crypto.randomUUID()}", "upstream": [{"name": "object/upload/sign"}]}`,
      `art_${randomBytes(16).toString("hex")} key_${randomBytes(16).toString("hex")}`,
      randomBytes(32).toString("hex"),
    ];
    await Deno.writeTextFile(join(directory, "f.log"), harmless.join("\n"));
    assert.deepEqual(await findSecretsInLogs(directory), []);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
