import assert from "node:assert/strict";
import { meshApp } from "../../../supabase/functions/agent-mesh/app.ts";
import { readRelay } from "../../../supabase/functions/agent-mesh/relay/relay.ts";
import { hasRelay, readMeshSettings } from "../../../supabase/functions/agent-mesh/settings.ts";

const SECRET = "sixteen-bytes-00";
const OWN = { MESH_TURN_URLS: "turn:turn.example.com:3478", MESH_TURN_SECRET: SECRET };
const SERVICE = {
  MESH_TURN_CREDENTIALS_URL: "https://rtc.example.com/v1/credentials",
  MESH_TURN_CREDENTIALS_TOKEN: "token-of-the-service",
};

function environment(own: Readonly<Record<string, string>>) {
  return new Map(Object.entries({
    SUPABASE_URL: "http://127.0.0.1:1",
    SUPABASE_SECRET_KEYS: '{"default": "sb_secret_a"}',
    USAGE_WRITE_SECONDS: "0",
    ...own,
  }));
}

/** The answer of a function with these variables to a public request. */
async function answerWith(own: Readonly<Record<string, string>>) {
  const app = meshApp(environment(own), () => {});
  const answer = await app.fetch(new Request("http://127.0.0.1/agent-mesh/openapi.json"));
  return { status: answer.status, body: await answer.json() };
}

Deno.test("no variable of a relay → none is set", () => {
  const settings = readMeshSettings(environment({}));
  assert.equal(hasRelay(settings), false);
  assert.equal(readRelay(settings), null);
});

Deno.test("MESH_TURN_URLS with MESH_TURN_SECRET → the project's own relay", async () => {
  const urls = [
    "turn:turn.example.com",
    "turn:203.0.113.7:3478?transport=udp",
    "turn:[2001:db8::7]:3478?transport=tcp",
    "turns:turn.example.com:443?transport=tcp",
    "turns:turn.example.com",
  ];
  const variables = { ...OWN, MESH_TURN_URLS: urls.join(" , ") };
  const settings = readMeshSettings(environment(variables));
  assert.equal(hasRelay(settings), true);
  assert.deepEqual(readRelay(settings), { kind: "own", urls, secret: SECRET });
  assert.equal((await answerWith(variables)).status, 200);
});

Deno.test("MESH_TURN_CREDENTIALS_URL with MESH_TURN_CREDENTIALS_TOKEN → a service's relay", async () => {
  const settings = readMeshSettings(environment(SERVICE));
  assert.equal(hasRelay(settings), true);
  assert.deepEqual(readRelay(settings), {
    kind: "service",
    url: SERVICE.MESH_TURN_CREDENTIALS_URL,
    token: SERVICE.MESH_TURN_CREDENTIALS_TOKEN,
  });
  assert.equal((await answerWith(SERVICE)).status, 200);
});

/** Bad settings, by the variable that the answer has to name first. */
const BAD: Readonly<Record<string, readonly Readonly<Record<string, string>>[]>> = {
  MESH_TURN_URLS: [
    ...[
      "turn.example.com:3478",
      "stun:turn.example.com",
      "turn://turn.example.com",
      "TURN:turn.example.com",
      "turn:turn.Example.com",
      "turn:user@turn.example.com",
      "turn:turn.example.com:0",
      "turn:turn.example.com:65536",
      "turn:turn.example.com:03478",
      "turn:turn.example.com:",
      "turn:turn.example.com?transport=sctp",
      "turn:turn.example.com?transport=UDP",
      "turn:turn.example.com?ttl=1",
      "turn:turn.example.com/path",
      "turn:turn example.com",
      "turn:127.1",
      "turn:2130706433",
      "turn:[2001:db8::7",
      "turn:[2001:db8:0::7]",
      "turn:2001:db8::7",
      "turn:",
      "turns:turn.example.com?transport=udp",
      "turn:turn.example.com,",
      ",turn:turn.example.com",
      "turn:turn.example.com\nturn:other.example.com",
      Array(9).fill("turn:turn.example.com").join(","),
    ].map((MESH_TURN_URLS) => ({ ...OWN, MESH_TURN_URLS })),
    { MESH_TURN_URLS: OWN.MESH_TURN_URLS },
    { ...OWN, ...SERVICE },
  ],
  MESH_TURN_SECRET: [
    ...["fifteen-bytes-0", "with a space in it", "näher-als-sechzehn", "s".repeat(2049)]
      .map((MESH_TURN_SECRET) => ({ ...OWN, MESH_TURN_SECRET })),
    { MESH_TURN_SECRET: SECRET },
  ],
  MESH_TURN_CREDENTIALS_URL: [
    ...[
      "rtc.example.com/v1",
      "http://rtc.example.com/v1",
      "https://user:password@rtc.example.com/v1",
      "https://rtc.example.com/v1?apiKey=of-the-operator",
      "https://rtc.example.com/v1#fragment",
      "turn:turn.example.com",
      "file:///etc/passwd",
    ].map((MESH_TURN_CREDENTIALS_URL) => ({ ...SERVICE, MESH_TURN_CREDENTIALS_URL })),
    { MESH_TURN_CREDENTIALS_URL: SERVICE.MESH_TURN_CREDENTIALS_URL },
  ],
  MESH_TURN_CREDENTIALS_TOKEN: [
    ...["two words", "line\nbreak", "ä".repeat(20)]
      .map((MESH_TURN_CREDENTIALS_TOKEN) => ({ ...SERVICE, MESH_TURN_CREDENTIALS_TOKEN })),
    { MESH_TURN_CREDENTIALS_TOKEN: "alone" },
  ],
};

for (const [name, environments] of Object.entries(BAD)) {
  Deno.test(`a bad ${name}, or one without its other half → every answer names it, and not its value`, async () => {
    for (const variables of environments) {
      const { status, body } = await answerWith(variables);
      assert.equal(status, 503, JSON.stringify(variables));
      const { code, message } = body.error;
      assert.equal(code, "misconfigured");
      assert.ok(message.startsWith(name), message);
      for (const value of Object.values(variables)) {
        if (value.length > 5) assert.ok(!message.includes(value), message);
      }
    }
  });
}
