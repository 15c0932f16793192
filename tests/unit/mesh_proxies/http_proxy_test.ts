import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { httpProxyServer } from "../../../clients/typescript/src/mesh/proxies/http_proxy.ts";
import { exchange, pretendedMesh, withServer } from "./proxy_clients.ts";

const TOKEN = "the-token";

function basic(user: string, password: string): string {
  return `Proxy-Authorization: Basic ${Buffer.from(`${user}:${password}`).toString("base64")}\r\n`;
}

const RIGHT = basic("mesh", TOKEN);

function connectTo(target: string, headers = RIGHT): string {
  return `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${headers}\r\n`;
}

function get(url: string, headers = RIGHT): string {
  return `GET ${url} HTTP/1.1\r\nHost: somewhere.else\r\n${headers}Connection: close, X-Hop\r\n` +
    "X-Hop: 1\r\nX-Kept: 2\r\n\r\n";
}

function statusOf(answer: Buffer): number {
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer.toString())?.[1]);
}

Deno.test("CONNECT with the token → every byte in both directions", async () => {
  const { dial, dialled } = pretendedMesh();
  await withServer(httpProxyServer(dial, TOKEN), async (port) => {
    for (const target of ["builder:80", "10.213.0.2:80", "[fd00::2]:80"]) {
      const answer = (await exchange(port, [connectTo(target), "hello"])).toString();
      assert.equal(answer, "HTTP/1.1 200 Connection established\r\n\r\nhello");
    }
  });
  assert.deepEqual(dialled.map(({ host }) => host), ["builder", "10.213.0.2", "fd00::2"]);
});

Deno.test("a request for a URL → at the peer as its own, without the proxy's headers; the answer as it came", async () => {
  const { dial, dialled } = pretendedMesh();
  await withServer(httpProxyServer(dial, TOKEN), async (port) => {
    const answer = (await exchange(port, [get("http://builder:81/tasks?state=open")], {
      half: false,
    })).toString();
    assert.equal(statusOf(Buffer.from(answer)), 201);
    assert.match(answer, /^x-answer: yes\r$/im);
    const [, head = ""] = answer.split("\r\n\r\n");
    assert.match(head, /^GET \/tasks\?state=open HTTP\/1\.1\r?\n/);
    assert.match(head, /^host: builder:81\r?$/im);
    assert.match(head, /^x-kept: 2\r?$/im);
    assert.doesNotMatch(head, /proxy-authorization|x-hop|somewhere/i);
    assert.ok(!answer.includes(TOKEN));
  });
  assert.deepEqual(dialled, [{ host: "builder", port: 81 }]);
});

Deno.test("no token, or a wrong one → 407 with a challenge, and nothing is dialled", async () => {
  const { dial, dialled } = pretendedMesh();
  await withServer(httpProxyServer(dial, TOKEN), async (port) => {
    const wrong = [
      "",
      basic("mesh", "wrong"),
      basic("other", TOKEN),
      "Proxy-Authorization: Bearer x\r\n",
      "Proxy-Authorization: Basic\r\n",
      "Proxy-Authorization: Basic bWVzaA==\r\n",
    ];
    for (const headers of wrong) {
      for (
        const request of [connectTo("builder:80", headers), get("http://builder:81/", headers)]
      ) {
        const answer = await exchange(port, [request], { half: false });
        assert.equal(statusOf(answer), 407, request);
        assert.match(answer.toString(), /^proxy-authenticate: Basic /im);
      }
    }
  });
  assert.deepEqual(dialled, []);
});

Deno.test("a target that is none → 400, and nothing is dialled", async () => {
  const { dial, dialled } = pretendedMesh();
  await withServer(httpProxyServer(dial, null), async (port) => {
    for (const target of ["builder", "builder:0", "builder:65536"]) {
      assert.equal(statusOf(await exchange(port, [connectTo(target)], { half: false })), 400);
    }
    for (const url of ["/tasks", "https://builder:81/", "ftp://builder:81/"]) {
      assert.equal(statusOf(await exchange(port, [get(url)], { half: false })), 400, url);
    }
  });
  assert.deepEqual(dialled, []);
});

Deno.test("a connection that fails → the status that says why", async () => {
  const { dial } = pretendedMesh();
  await withServer(httpProxyServer(dial, null), async (port) => {
    for (const [target, status] of [[1, 403], [2, 502], [3, 502], [4, 504], [5, 502]] as const) {
      const tunnel = await exchange(port, [connectTo(`builder:${target}`)], { half: false });
      assert.equal(statusOf(tunnel), status);
      const url = await exchange(port, [get(`http://builder:${target}/`)], { half: false });
      assert.equal(statusOf(url), status);
      if (status === 504) assert.match(url.toString(), /^The peer does not answer: no way\.$/m);
    }
  });
});
