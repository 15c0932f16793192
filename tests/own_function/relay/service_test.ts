import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { assertError } from "../../conformance/client.ts";
import { join, meshTest } from "../../conformance/mesh_cast.ts";
import { startOwnFunction } from "../own_function.ts";
import { askRelay, SERVICE_TOKEN, startCredentialsService } from "./relays.ts";

const CREDENTIALS = { username: "u".repeat(64), credential: "the-credential-of-the-service" };
const STUN = { urls: ["stun:stun.example.com:3478"] };
const URLS = [
  "turn:turn.example.com:3478?transport=udp",
  "turn:turn.example.com:3478?transport=tcp",
  "turns:turn.example.com:443?transport=tcp",
];

/** The forms in which services answer: different statuses, with and without a list. */
const ANSWERS: readonly (readonly [name: string, status: number, body: object])[] = [
  ["a list with a STUN server", 201, { iceServers: [STUN, { urls: URLS, ...CREDENTIALS }] }],
  ["one server", 200, { iceServers: { urls: [...STUN.urls, ...URLS], ...CREDENTIALS } }],
  ["URIs that no client here can use among others", 200, {
    iceServers: [
      { urls: ["turns:turn.example.com?transport=udp", ...URLS, "turn:a b"], ...CREDENTIALS },
      { urls: "turn:", ...CREDENTIALS },
    ],
    other: "of the service",
  }],
];

meshTest(
  "/relay where a service is set → its TURN servers, asked for an hour in the name of the address",
  async ({ alice }) => {
    await using service = startCredentialsService();
    const { environment } = service;
    await using own = await startOwnFunction({ name: "agent-mesh", environment });
    const { addresses: [ipv4] } = await join(alice);
    for (const [name, status, answer] of ANSWERS) {
      service.answerWith(() => Response.json(answer, { status }));
      const { status: answered, body } = await askRelay(own, alice);
      assert.equal(answered, 200, name);
      assert.deepEqual(body.ice_servers, [{ urls: URLS, ...CREDENTIALS }], name);
      const left = Date.parse(body.expires_at) - Date.now();
      assert.ok(left > 3_000_000 && left <= 3_600_000, String(left));
      assert.deepEqual(service.requests.at(-1), {
        method: "POST",
        authorization: `Bearer ${SERVICE_TOKEN}`,
        body: { ttl: 3600, customIdentifier: ipv4 },
      });
    }
    const log = await readFile(own.logFile, "utf8");
    assert.ok(log.includes("relay/credentials"), "the call is in the log");
    assert.ok(!log.includes(SERVICE_TOKEN) && !log.includes(CREDENTIALS.credential));
  },
);

const server = { urls: URLS, ...CREDENTIALS };

/** Answers without a usable server. */
const USELESS: Readonly<Record<string, () => Response | Promise<Response>>> = {
  "an error": () => Response.json({ errors: [] }, { status: 500 }),
  "too many requests": () => new Response(null, { status: 429 }),
  "nothing": () => new Response(null, { status: 204 }),
  "a redirect to an answer": () => Response.redirect("http://127.0.0.1:1/", 307),
  "a page": () => new Response("<html>"),
  "a list alone": () => Response.json([server]),
  "null": () => Response.json(null),
  "no server": () => Response.json({ iceServers: [] }),
  "a STUN server alone": () => Response.json({ iceServers: [STUN] }),
  "no credentials": () => Response.json({ iceServers: [{ urls: URLS }] }),
  "an empty username": () => Response.json({ iceServers: [{ ...server, username: "" }] }),
  "a username that is too long": () =>
    Response.json({ iceServers: [{ ...server, username: "u".repeat(509) }] }),
  "another type of credential": () =>
    Response.json({ iceServers: [{ ...server, credential: { macKey: "k" } }] }),
  "other URIs": () => Response.json({ iceServers: [{ ...server, urls: ["https://a.example"] }] }),
  "nine servers": () => Response.json({ iceServers: Array(9).fill(server) }),
  "more than it may be": () =>
    Response.json({ iceServers: [server], padding: "p".repeat(16 * 1024) }),
  "an endless body": () =>
    new Response(
      new ReadableStream({
        pull: (controller) => controller.enqueue(new Uint8Array(4096)),
      }),
    ),
};

meshTest(
  "/relay where the service's answer is useless → 503 to be repeated, which quotes none of it",
  async ({ alice }) => {
    await using service = startCredentialsService();
    const { environment } = service;
    await using own = await startOwnFunction({ name: "agent-mesh", environment });
    await join(alice);
    for (const [name, answer] of Object.entries(USELESS)) {
      service.answerWith(answer);
      // Ask as the operator, who has no limit here.
      const refused = await askRelay(own, "operator", { agent_id: alice.id });
      assert.equal(refused.status, 503, name);
      assertError(refused, 503, "upstream_unavailable");
      assert.ok(!JSON.stringify(refused.body).includes(CREDENTIALS.credential), name);
    }
    service.answerWith(() => Response.json({ iceServers: [server] }));
    assert.equal((await askRelay(own, alice)).status, 200);
    const log = await readFile(own.logFile, "utf8");
    assert.ok(log.includes("no TURN server with credentials"), "the log has the reason");
    assert.ok(!log.includes(SERVICE_TOKEN) && !log.includes(CREDENTIALS.credential));
  },
);

meshTest("/relay where the service refuses the token → 503 that names it", async ({ alice }) => {
  await using service = startCredentialsService();
  const { environment } = service;
  await using own = await startOwnFunction({ name: "agent-mesh", environment });
  await join(alice);
  for (const status of [401, 403]) {
    service.answerWith(() => Response.json({ token: SERVICE_TOKEN }, { status }));
    const refused = await askRelay(own, alice);
    assertError(refused, 503, "misconfigured");
    assert.match(JSON.stringify(refused.body), /refuses MESH_TURN_CREDENTIALS_TOKEN\./);
    assert.ok(!JSON.stringify(refused.body).includes(SERVICE_TOKEN));
  }
});

meshTest("/relay where no service listens → 503 to be repeated", async ({ alice }) => {
  await using gone = startCredentialsService();
  const { environment } = gone;
  await gone[Symbol.asyncDispose]();
  await using own = await startOwnFunction({ name: "agent-mesh", environment });
  await join(alice);
  assertError(await askRelay(own, alice), 503, "upstream_unavailable");
  const log = await readFile(own.logFile, "utf8");
  const { MESH_TURN_CREDENTIALS_URL: url = assert.fail() } = environment;
  assert.ok(!log.includes(url), "the address is not told");
});
