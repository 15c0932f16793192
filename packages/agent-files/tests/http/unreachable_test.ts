/** Clients of an unreachable service, with the errors that real platforms throw. */
import assert from "node:assert/strict";
import { networkError } from "../../errors/network_error.ts";
import { AgentError, AgentFiles, type Retry } from "../../index.ts";
import { agentFiles, collect } from "../cast.ts";
import { startUntrustedServer } from "./untrusted_server.ts";

/** A client of this URL, and the origins to which it sent requests. */
function clientOf(url: string, retrySeconds = 120) {
  const asked: string[] = [];
  const retries: Retry[] = [];
  const files = new AgentFiles({
    url,
    key: "ak_test",
    retrySeconds,
    onRetry: (retry) => retries.push(retry),
    fetch: (input, init) => {
      asked.push(new URL(String(input)).origin);
      return fetch(input, init);
    },
  });
  return { files, asked, retries };
}

async function failureOf(promise: Promise<unknown>): Promise<AgentError> {
  const error = await promise.then(() => null, (error) => error);
  assert.ok(error instanceof AgentError, String(error));
  return error;
}

// No DNS name has a label of more than 63 characters, so this name cannot exist.
const NO_NAME = `https://${"a".repeat(64)}.invalid`;

Deno.test("a name that does not exist → asked once; the error has the URL and the reason", async () => {
  const { files, asked, retries } = clientOf(NO_NAME);
  const error = await failureOf(files.put("plan", "1"));
  assert.equal(error.code, "network_error");
  assert.equal(error.retryable, false);
  assert.ok(error.message.startsWith(`${NO_NAME} cannot be reached: the name `), error.message);
  assert.match(error.message, /does not exist/);
  assert.deepEqual(asked, [NO_NAME]);
  assert.deepEqual(retries, []);
});

Deno.test("a certificate that is not trusted → asked once; the error has the URL and the reason", async () => {
  await using server = await startUntrustedServer();
  const { files, asked } = clientOf(server.url);
  const error = await failureOf(files.whoami());
  assert.equal(error.retryable, false);
  const begins = `${server.url} cannot be reached: its certificate is not trusted (`;
  assert.ok(error.message.startsWith(begins), error.message);
  assert.equal(asked.length, 1);
});

Deno.test("https:// to a server without TLS → asked once; the error says to check the URL", async () => {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response("{}"),
  );
  const { files, asked } = clientOf(`https://127.0.0.1:${server.addr.port}`);
  const error = await failureOf(files.whoami());
  assert.equal(error.retryable, false);
  assert.match(error.message, /does not answer in TLS/);
  assert.equal(asked.length, 1);
});

Deno.test("a port that nobody listens on → retried while there is time; onRetry hears of it", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${listener.addr.port}`;
  listener.close();
  const { files, asked, retries } = clientOf(url, 1);
  const error = await failureOf(files.whoami());
  assert.equal(error.message, `${url} did not answer: connection refused.`);
  assert.equal(error.retryable, true);
  assert.ok(asked.length > 1);
  assert.equal(retries.length, asked.length - 1);
  assert.equal(retries[0]!.failingSeconds, 0);
  assert.equal(retries[0]!.error.code, "network_error");
  const once = clientOf(url, 0);
  await failureOf(once.files.whoami());
  assert.deepEqual([once.asked.length, once.retries.length], [1, 0]);
});

Deno.test("a name that no longer exists, after it has answered → retried: the machine may be offline", async () => {
  let failures = 0;
  const { files } = await agentFiles("planner", {
    fetch: (input, init) => {
      if (failures === 0 || failures > 2) return fetch(input, init);
      failures++;
      return Promise.reject(new TypeError("fetch failed", { cause: withCode("ENOTFOUND") }));
    },
  });
  await files.whoami();
  failures = 1;
  assert.deepEqual(await collect(files.list()), []);
  assert.equal(failures, 3);
});

for (const url of ["", "planner", "ftp://files.example", "http://[::1", "files.example:80"]) {
  Deno.test(`new AgentFiles({ url: ${JSON.stringify(url)} }) → invalid_request, which has the URL`, () => {
    assert.throws(() => new AgentFiles({ url, key: "ak_test" }), (error) => {
      assert.ok(error instanceof AgentError);
      assert.equal(error.code, "invalid_request");
      assert.ok(error.message.startsWith("url: Must be a URL"), error.message);
      assert.ok(error.message.includes(JSON.stringify(url)), error.message);
      return true;
    });
  });
}

Deno.test("new AgentFiles() with URL and key exchanged → an error without the key", () => {
  const exchange = () => new AgentFiles({ url: "ak_secret", key: "https://files.example" });
  assert.throws(exchange, (error) => error instanceof AgentError && !/secret/.test(error.message));
});

function withCode(code: string, message = `getaddrinfo ${code} files.example`): Error {
  return Object.assign(new Error(message), { code });
}

/** Errors as observed in each runtime; whether they are retried; and a match of the message. */
const THROWN: readonly (readonly [string, Error, boolean, RegExp])[] = [
  [
    "Node: no such name",
    failed(withCode("ENOTFOUND")),
    false,
    /name files\.example does not exist/,
  ],
  ["Node: no name server", failed(withCode("EAI_AGAIN")), true, /cannot be looked up/],
  [
    "Node: a wrong certificate",
    failed(withCode("ERR_TLS_CERT_ALTNAME_INVALID", "Hostname/IP does not match")),
    false,
    /not trusted \(ERR_TLS_CERT_ALTNAME_INVALID\)/,
  ],
  [
    "Node 24: a self-signed certificate",
    failed(withCode("DEPTH_ZERO_SELF_SIGNED_CERT", "self-signed certificate; if the root CA …")),
    false,
    /not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\)/,
  ],
  [
    "Node: no TLS",
    failed(withCode("ERR_SSL_WRONG_VERSION_NUMBER", "80AC2ADCE67F0000:error:0A00010B:…")),
    false,
    /does not answer in TLS/,
  ],
  ["Node: a blocked port", failed(new Error("bad port")), false, /refuses to use this port/],
  [
    "Node: no address listens",
    failed(new AggregateError([withCode("ECONNREFUSED")])),
    true,
    /connection refused/,
  ],
  ["Node: reset", failed(withCode("ECONNRESET", "read ECONNRESET")), true, /connection reset/],
  [
    "undici: a proxy that wants a password",
    failed(withCode("UND_ERR_ABORTED", "Proxy response (407) !== 200 when HTTP Tunneling")),
    false,
    /the proxy refused with HTTP 407/,
  ],
  [
    "Deno 2.1: no such name",
    new TypeError(
      "error sending request for url (https://files.example/object/x?token=secret): client error (Connect): dns error: failed to lookup address information: Name or service not known",
    ),
    false,
    /the name does not exist/,
  ],
  [
    "Deno: a broken connection",
    new TypeError(
      "error sending request from 127.0.0.1:1 for https://files.example/object/x?token=secret (127.0.0.1:2): client error (SendRequest): connection closed before message completed",
    ),
    true,
    /did not answer: connection closed before message completed\.$/,
  ],
  [
    "Bun: no such name",
    Object.assign(new TypeError("getaddrinfo ENOTFOUND files.example"), { code: "ENOTFOUND" }),
    false,
    /name files\.example does not exist/,
  ],
  [
    "Bun: nobody listens",
    Object.assign(new TypeError("ECONNREFUSED: Unable to connect."), { code: "ECONNREFUSED" }),
    true,
    /did not answer: connection refused\.$/,
  ],
  ["a browser", new TypeError("Failed to fetch"), true, /did not answer: Failed to fetch\.$/],
];

function failed(cause: Error): TypeError {
  return new TypeError("fetch failed", { cause });
}

for (const [what, cause, retryable, says] of THROWN) {
  Deno.test(`networkError() of ${what} → retryable ${retryable}, in words, without the path`, () => {
    const url = "https://files.example/object/x?token=secret";
    const error = networkError(cause, { url, wasAnswered: false });
    assert.equal(error.retryable, retryable, error.message);
    assert.match(error.message, says);
    assert.match(error.message, /^https:\/\/files\.example /);
    assert.doesNotMatch(error.message, /secret/);
    assert.equal(networkError(cause, { url, wasAnswered: true }).retryable, true);
  });
}
