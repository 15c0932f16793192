import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { httpProxyServer } from "../../../agent-peer/mesh/proxies/http_proxy.ts";
import { listenAt } from "../../../agent-peer/mesh/proxies/place.ts";
import { UsageError } from "../../../command/usage_error.ts";
import { connectByProxy, parseProxy } from "../../mesh/probe/by_proxy.ts";

/** Fails with the code that the host is called; `open` is reached. */
function dial({ host }: { readonly host: string }) {
  if (host === "open") return Promise.resolve(new PassThrough());
  return Promise.reject(Object.assign(new Error("no way"), { code: host }));
}

const ANSWERS = [
  ["open", "open"],
  ["ECONNREFUSED", "refused"],
  ["ETIMEDOUT", "timeout"],
  ["no_rule", "denied"],
  ["unknown_peer", "unknown_peer"],
  ["given_up", "failed"],
] as const;

Deno.test("the answer of mesh join's HTTP proxy, at a port and at a Unix socket, for each cause", async () => {
  const folder = await Deno.makeTempDir();
  const server = httpProxyServer(dial, "the:token");
  const local = httpProxyServer(dial, null);
  try {
    const place = await listenAt(server, { kind: "port", host: "127.0.0.1", port: 0 });
    const port = place.kind === "port" ? place.port : 0;
    const path = `${folder}/proxy socket`;
    await listenAt(local, { kind: "file", path });
    const urls = [
      `http://mesh:the%3Atoken@127.0.0.1:${port}`,
      `http+unix://${encodeURIComponent(path)}`,
    ];
    for (const url of urls) {
      for (const [host, answer] of ANSWERS) {
        assert.equal(
          await connectByProxy(parseProxy(url), `${host}:8080`),
          answer,
          `${url} ${host}`,
        );
      }
    }
    for (const login of ["", "mesh:other@"]) {
      const url = `http://${login}127.0.0.1:${port}`;
      assert.equal(await connectByProxy(parseProxy(url), "open:8080"), "token_refused", url);
    }
  } finally {
    for (const each of [server, local]) await new Promise((resolve) => each.close(resolve));
    await Deno.remove(folder, { recursive: true });
  }
  const gone = parseProxy(`http+unix://${encodeURIComponent(`${folder}/proxy socket`)}`);
  assert.equal(await connectByProxy(gone, "open:8080"), "no_proxy");
});

for (
  const text of [
    "",
    "null",
    "127.0.0.1:3128",
    "socks5h://127.0.0.1:1080",
    "https://a/",
    "http+unix://",
  ]
) {
  Deno.test(`mesh probe --proxy ${JSON.stringify(text)} is refused`, () => {
    assert.throws(() => parseProxy(text), UsageError);
  });
}
