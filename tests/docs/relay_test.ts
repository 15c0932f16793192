import assert from "node:assert/strict";
import { readRelay } from "../../supabase/functions/agent-mesh/relay/relay.ts";
import { readMeshSettings } from "../../supabase/functions/agent-mesh/settings.ts";
import { documentedBlock } from "./blocks/documentation.ts";

/** The variables in a file, as `supabase secrets set --env-file` reads it. */
function environmentIn(file: string): Map<string, string> {
  const lines = file.trim().split("\n").map((line): [string, string] => {
    const [, name = "", value = ""] = /^([A-Z_]+)=(.*)$/.exec(line) ?? [];
    return [name, value];
  });
  return new Map([
    ["SUPABASE_URL", "http://127.0.0.1:1"],
    ["SUPABASE_SECRET_KEYS", '{"default": "sb_secret_a"}'],
    ...lines,
  ]);
}

Deno.test("docs/relay.md, A public service → variables that set a relay", async () => {
  const block = await documentedBlock("docs/relay.md, A public service, 1");
  const environment = environmentIn(
    block.replace("<key id>", "0123abcd").replace("<API token>", "token"),
  );
  assert.deepEqual(readRelay(readMeshSettings(environment)), {
    kind: "service",
    url: "https://rtc.live.cloudflare.com/v1/turn/keys/0123abcd/credentials/generate-ice-servers",
    token: "token",
  });
});
