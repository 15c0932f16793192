import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { connect } from "node:net";
import { httpProxyServer } from "../../mesh/proxies/http_proxy.ts";
import { exchange, type HttpPeer, httpPeer, pretendedMesh, withServer } from "./proxy_clients.ts";

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

async function until(condition: () => boolean): Promise<void> {
  const end = Date.now() + 5000;
  while (!condition()) {
    assert.ok(Date.now() < end, "It has not come.");
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
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

Deno.test("a connection that fails → the status and the Proxy-Status that say why", async () => {
  const { dial } = pretendedMesh();
  await withServer(httpProxyServer(dial, null), async (port) => {
    for (
      const [target, status, error] of [
        [1, 403, "http_request_denied"],
        [2, 502, "dns_error"],
        [3, 502, "connection_refused"],
        [4, 504, "connection_timeout"],
        [5, 502, "destination_unavailable"],
      ] as const
    ) {
      const tunnel = await exchange(port, [connectTo(`builder:${target}`)], { half: false });
      const url = await exchange(port, [get(`http://builder:${target}/`)], { half: false });
      for (const answer of [tunnel, url]) {
        assert.equal(statusOf(answer), status);
        const [, cause] = /^proxy-status: agentfiles; error=(\w+)\r$/im.exec(`${answer}`) ?? [];
        assert.equal(cause, error);
      }
      if (status === 504) assert.match(url.toString(), /^The peer does not answer: no way\.$/m);
    }
  });
});

Deno.test("an answer that is not valid HTTP → 502, and the proxy goes on", async () => {
  const answers = [
    "HTTP/1.1 000 x\r\n\r\n",
    "HTTP/1.1 099 x\r\n\r\n",
    "HTTP/1.1 200 a\x01b\r\ncontent-length: 0\r\n\r\n",
    "HTTP/1.1 200 a\x7fb\r\ncontent-length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nx-a: a\x01b\r\n\r\n",
    "HTTP/1.1 200 OK\r\nx a: b\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
    "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    "nonsense\r\n\r\n",
  ];
  for (const answer of answers) {
    const peer = httpPeer(answer);
    await withServer(httpProxyServer(peer.dial, null), async (port) => {
      const text = (await exchange(port, [get("http://builder/", "")], { half: false })).toString();
      assert.match(text, /^HTTP\/1\.1 502 Bad Gateway\r\n/, answer);
      assert.match(text, /content-type: text\/plain\r\n/i);
      assert.match(text, /The (peer's answer is not valid HTTP|connection to the peer failed)\.$/m);
      assert.ok(!text.includes("\x01"));
    });
    assert.ok(peer.isClosed(), answer);
  }
});

Deno.test("answers before the last one, and trailers → the last answer, with its whole body", async () => {
  const peer = httpPeer(
    "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 Fine\r\ntrailer: x-sum\r\n" +
      "transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nx-sum: 1\r\n\r\n",
  );
  await withServer(httpProxyServer(peer.dial, null), async (port) => {
    const text = (await exchange(port, [get("http://builder/", "")], { half: false })).toString();
    assert.match(text, /^HTTP\/1\.1 200 Fine\r\n/);
    assert.match(text, /\r\n\r\n3\r\nabc\r\n0\r\n\r\n$/);
    assert.doesNotMatch(text, /trailer|x-sum/i);
  });
});

Deno.test("a request's body → ends at the peer where it ended here, with every method", async () => {
  const chunked = "Transfer-Encoding: chunked\r\n";
  const smuggled = "GET /secret HTTP/1.1\r\nhost: a\r\n\r\n";
  const chunk = `${smuggled.length.toString(16)}\r\n${smuggled}\r\n`;
  for (const method of ["GET", "DELETE", "OPTIONS", "POST", "PUT", "PATCH"]) {
    for (
      const [headers, body] of [
        [`Connection: close\r\n${chunked}`, `${chunk}0\r\n\r\n`],
        [`Connection: close, transfer-encoding\r\n${chunked}`, `${chunk}0\r\n\r\n`],
        [`Connection: close\r\nContent-Length: ${smuggled.length}\r\n`, smuggled],
        [`Connection: close, content-length\r\nContent-Length: ${smuggled.length}\r\n`, smuggled],
      ] as const
    ) {
      const peer = httpPeer("");
      await withServer(httpProxyServer(peer.dial, null), async (port) => {
        const head = `${method} http://builder/ HTTP/1.1\r\nHost: builder\r\n${headers}\r\n`;
        const client = exchange(port, [head, body], { half: false });
        await until(() => peer.received().endsWith(body));
        const [passed = ""] = peer.received().split("\r\n\r\n");
        const framing = /^(transfer-encoding: chunked|content-length: \d+)\r?$/gim;
        assert.equal(passed.match(framing)?.length, 1, peer.received());
        assert.equal(peer.received().length, passed.length + 4 + body.length);
        peer.close();
        await client;
      });
    }
  }
});

Deno.test("a client that has gone when the connection is made → the connection is closed", async () => {
  const peer = httpPeer("");
  const { promise: dialled, resolve: begin } = Promise.withResolvers<void>();
  const dial: HttpPeer["dial"] = async (to) => {
    begin();
    await new Promise((gone) => to.signal.addEventListener("abort", gone));
    return await peer.dial(to);
  };
  await withServer(httpProxyServer(dial, null), async (port) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.write(get("http://builder/", ""));
    await dialled;
    socket.destroy();
    await until(peer.isClosed);
  });
});
