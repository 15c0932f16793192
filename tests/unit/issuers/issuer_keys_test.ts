/** Which requests an issuer gets, and how often; against real servers on this machine. */
import assert from "node:assert/strict";
import { detailOf } from "../../../supabase/functions/_shared/identity/issuers/detail.ts";
import { IssuerKeys } from "../../../supabase/functions/_shared/identity/issuers/issuer_keys.ts";

const [SECOND, MINUTE] = [1_000, 60_000];

type Answer = Response | Promise<Response>;

/** A server whose issuer is its own address. */
class Server implements AsyncDisposable {
  readonly asked: string[] = [];
  kids = ["a", "b"];
  isDown = false;
  /** By path: answers that replace the usual ones. */
  answers: Record<string, () => Answer> = {};
  readonly #server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => this.#answer(new URL(request.url).pathname),
  );

  get issuer(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  #answer(path: string): Answer {
    this.asked.push(path);
    if (this.isDown) return new Response("down", { status: 503 });
    const own = this.answers[path];
    if (own !== undefined) return own();
    if (path === "/keys") {
      return Response.json({ keys: [...this.kids.map((kid) => ({ kty: "RSA", kid })), null] });
    }
    return Response.json({ issuer: this.issuer, jwks_uri: `${this.issuer}/keys` });
  }

  /** The number of requests since the last call. */
  count(): number {
    return this.asked.splice(0).length;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server.shutdown();
  }
}

/** An IssuerKeys with a clock that only the test moves. */
function keysByClock() {
  const clock = { now: 0 };
  const keys = new IssuerKeys({ allowLoopback: true, now: () => clock.now });
  const kidsOf = async (issuer: string, kid?: string) =>
    (await keys.keysOf(issuer, kid))?.map(({ kid }) => kid) ?? null;
  return { clock, kidsOf };
}

Deno.test("the keys of an issuer → asked for once by many at once, kept for ten minutes, then asked for again", async () => {
  await using server = new Server();
  const { clock, kidsOf } = keysByClock();
  const all = await Promise.all(Array.from({ length: 20 }, () => kidsOf(server.issuer, "a")));
  assert.deepEqual(new Set(all.map(String)), new Set(["a,b"]));
  assert.deepEqual(server.asked, ["/.well-known/openid-configuration", "/keys"]);
  server.count();
  clock.now = 10 * MINUTE - 1;
  await kidsOf(server.issuer, "a");
  assert.equal(server.count(), 0);
  clock.now = 10 * MINUTE;
  server.kids = ["c"];
  assert.deepEqual(await kidsOf(server.issuer, "a"), ["c"]);
  assert.equal(server.count(), 2);
});

Deno.test("a kid that the issuer does not have → it is asked at most once a minute, however often the kid comes", async () => {
  await using server = new Server();
  const { clock, kidsOf } = keysByClock();
  await kidsOf(server.issuer, "a");
  server.count();
  let requests = 0;
  for (clock.now = 0; clock.now < 5 * MINUTE; clock.now += SECOND) {
    await Promise.all([kidsOf(server.issuer, "unknown"), kidsOf(server.issuer, "another")]);
    requests += server.count();
  }
  // Four times two requests: one for the discovery document and one for the keys.
  assert.equal(requests, 2 * 4);
  server.kids = ["unknown"];
  clock.now += MINUTE;
  assert.deepEqual(await kidsOf(server.issuer, "unknown"), ["unknown"]);
});

Deno.test("an issuer that is down → its last keys for an hour, then none; asked every ten seconds at most, and back at once", async () => {
  await using server = new Server();
  const { clock, kidsOf } = keysByClock();
  await kidsOf(server.issuer);
  server.isDown = true;
  server.count();
  clock.now = 10 * MINUTE;
  let requests = 0;
  for (let second = 0; second < 60; second++, clock.now += SECOND) {
    assert.deepEqual(await kidsOf(server.issuer), ["a", "b"]);
    requests += server.count();
  }
  assert.equal(requests, 6);
  clock.now = 60 * MINUTE - 1;
  assert.deepEqual(await kidsOf(server.issuer), ["a", "b"]);
  clock.now = 61 * MINUTE;
  assert.equal(await kidsOf(server.issuer), null);
  server.isDown = false;
  clock.now += 10 * SECOND;
  assert.deepEqual(await kidsOf(server.issuer), ["a", "b"]);
});

Deno.test("an answer that is not the issuer's document or keys → no keys, and no other server is asked", async (t) => {
  await using elsewhere = new Server();
  const large = `{"keys":[{"kty":"RSA","kid":"${"k".repeat(300 * 1024)}"}]}`;
  const many = { keys: Array.from({ length: 101 }, (_, n) => ({ kty: "RSA", kid: `${n}` })) };
  const DOCUMENT = "/.well-known/openid-configuration";
  const wrong: Record<string, (server: Server) => Record<string, () => Answer>> = {
    "a redirected document": () => ({
      [DOCUMENT]: () => Response.redirect(`${elsewhere.issuer}${DOCUMENT}`),
    }),
    "redirected keys": () => ({ "/keys": () => Response.redirect(`${elsewhere.issuer}/keys`) }),
    "300 KiB of keys": () => ({ "/keys": () => new Response(large) }),
    "a document of 300 KiB": () => ({ [DOCUMENT]: () => new Response(large) }),
    "another issuer's document": ({ issuer }) => ({
      [DOCUMENT]: () => Response.json({ issuer: `${issuer}/`, jwks_uri: `${issuer}/keys` }),
    }),
    "101 keys": () => ({ "/keys": () => Response.json(many) }),
    "no keys": () => ({ "/keys": () => Response.json({ keys: "none" }) }),
    "no JSON": () => ({ "/keys": () => new Response("<html>") }),
    "null": () => ({ [DOCUMENT]: () => Response.json(null) }),
    "a failure": () => ({ "/keys": () => new Response("{}", { status: 500 }) }),
    "an empty success": () => ({ "/keys": () => new Response(null, { status: 204 }) }),
    ...Object.fromEntries(
      [
        "http://10.0.0.1/keys",
        "https://10.0.0.1/keys",
        "https://[::1]/keys",
        "https://localhost/keys",
        "https://metadata.google.internal/keys",
        "http://issuer.example.com/keys",
        "http://127.0.0.2:1/keys",
        "https://user:password@issuer.example.com/keys",
        "https://user@issuer.example.com/keys?p=1",
        "http://10.0.0.1/keys?p=1",
        "https://localhost/keys?p=1",
        "file:///etc/hostname",
        7,
      ].map((jwks_uri) => [
        `keys at ${jwks_uri}`,
        ({ issuer }: Server) => ({ [DOCUMENT]: () => Response.json({ issuer, jwks_uri }) }),
      ]),
    ),
  };
  for (const [what, answersOf] of Object.entries(wrong)) {
    await t.step(what, async () => {
      await using server = new Server();
      server.answers = answersOf(server);
      assert.equal(await keysByClock().kidsOf(server.issuer), null);
      assert.ok(server.count() >= 1, "it was asked");
      assert.equal(elsewhere.count(), 0);
    });
  }
});

Deno.test("an issuer that does not answer → none after five seconds, for all who wait", async () => {
  await using server = new Server();
  const held = Promise.withResolvers<Response>();
  server.answers = { "/keys": () => held.promise };
  const { kidsOf } = keysByClock();
  const answers = await Promise.all([kidsOf(server.issuer), kidsOf(server.issuer)]);
  assert.deepEqual(answers, [null, null]);
  assert.equal(server.count(), 2);
  held.resolve(new Response("{}"));
});

Deno.test("more issuers than are kept → those that were asked for last", async () => {
  await using server = new Server();
  const { kidsOf } = keysByClock();
  const issuers = Array.from({ length: 65 }, (_, n) => `${server.issuer}/${n}`);
  server.answers = Object.fromEntries(
    issuers.map((issuer, n) => [
      `/${n}/.well-known/openid-configuration`,
      () => Response.json({ issuer, jwks_uri: `${server.issuer}/keys` }),
    ]),
  );
  for (const issuer of issuers) await kidsOf(issuer);
  assert.equal(server.count(), 130);
  for (const issuer of issuers.slice(1)) await kidsOf(issuer);
  assert.equal(server.count(), 0);
  await kidsOf(issuers[0]!);
  assert.equal(server.count(), 2);
});

Deno.test("keys at an address with a query, and JSON after a byte order mark → the keys", async () => {
  await using server = new Server();
  const { issuer } = server;
  const jwks_uri = `${issuer}/keys?p=b2c_1_x&q=a%20b`;
  server.answers = {
    "/.well-known/openid-configuration": () =>
      new Response(`\ufeff${JSON.stringify({ issuer, jwks_uri })}`),
  };
  assert.deepEqual(await keysByClock().kidsOf(issuer), ["a", "b"]);
});

Deno.test("keys that cannot be fetched → the operator is told which URL was asked, and what was answered", async (t) => {
  const DOCUMENT = "/.well-known/openid-configuration";
  const many = { keys: Array.from({ length: 110 }, (_, n) => ({ kty: "RSA", kid: `${n}` })) };
  const cases: Record<string, [(server: Server) => Record<string, () => Answer>, RegExp]> = {
    "no document": [
      () => ({ [DOCUMENT]: () => new Response("", { status: 404 }) }),
      /^Its document, http:\S+\/openid-configuration: answered with status 404\.$/,
    ],
    "a page": [
      () => ({
        [DOCUMENT]: () => new Response("<html>", { headers: { "content-type": "text/html" } }),
      }),
      /^Its document, http:\S+: answered no JSON \(text\/html\)\.$/,
    ],
    "another issuer": [
      () => ({ [DOCUMENT]: () => Response.json({ issuer: "https://other.example.com" }) }),
      /^Its document, http:\S+, is of the issuer "https:\/\/other\.example\.com"\.$/,
    ],
    "no issuer": [
      () => ({ [DOCUMENT]: () => Response.json([]) }),
      /, is of the issuer undefined\.$/,
    ],
    "no jwks_uri": [
      ({ issuer }) => ({ [DOCUMENT]: () => Response.json({ issuer }) }),
      /^Its document, http:\S+, has no jwks_uri\.$/,
    ],
    "keys inside": [
      ({ issuer }) => ({
        [DOCUMENT]: () => Response.json({ issuer, jwks_uri: "https://localhost/keys" }),
      }),
      /^Its keys, https:\/\/localhost\/keys: Must be a public DNS name\.$/,
    ],
    "110 keys": [
      () => ({ "/keys": () => Response.json(many) }),
      /^Its keys, http:\S+\/keys, are 110: at most 100\.$/,
    ],
    "no set": [
      () => ({ "/keys": () => Response.json({}) }),
      /^Its keys, http:\S+\/keys, are no set of keys\.$/,
    ],
    "a redirect": [
      () => ({ "/keys": () => Response.redirect("http://127.0.0.1/elsewhere") }),
      /^Its keys, http:\S+\/keys: answered with status 302\.$/,
    ],
    "hostile text": [
      () => ({
        [DOCUMENT]: () => Response.json({ issuer: `\u202e\n\0${"x".repeat(100_000)}` }),
      }),
      /^Its document, http:\S+, is of the issuer "[^\p{C}]{10,300}$/u,
    ],
  };
  for (const [what, [answersOf, told]] of Object.entries(cases)) {
    await t.step(what, async () => {
      await using server = new Server();
      server.answers = answersOf(server);
      const keys = new IssuerKeys({ allowLoopback: true });
      assert.equal(await keys.keysOf(server.issuer, undefined), null);
      assert.match(keys.failureOf(server.issuer), told);
    });
  }
});

Deno.test("a detail that is cut within a character → the database can store it", () => {
  for (let before = 490; before < 510; before++) {
    const detail = detailOf(`${"k".repeat(before)}\u{1f511}\u{1f511}`);
    assert.ok(detail.isWellFormed(), JSON.stringify(detail));
  }
});
