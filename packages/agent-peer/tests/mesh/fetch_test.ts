import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { meshFetch } from "../../mesh/http/fetch.ts";

interface Asked {
  readonly host: string;
  readonly port: number;
}

/** A mesh in which every name and port leads to the same HTTP server. */
async function withMesh(
  answer: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>,
  use: (fetch: typeof globalThis.fetch, asked: Asked[]) => Promise<void>,
): Promise<void> {
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const asked: Asked[] = [];
  const dial = ({ host, port: named }: Asked) => {
    asked.push({ host, port: named });
    return Promise.resolve(connect({ port, host: "127.0.0.1" }));
  };
  try {
    await use((input, init) => meshFetch(dial, input, init), asked);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** A peer that sends these bytes when a request has ended. */
function peerThatSays(answer: string) {
  let received = "";
  const connection = new Duplex({
    read: () => {},
    write(chunk: Uint8Array, _encoding, done) {
      received += new TextDecoder().decode(chunk);
      const isWhole = /^GET/.test(received) || received.endsWith("0\r\n\r\n");
      if (isWhole) this.push(answer, "latin1");
      done();
    },
  });
  return { connection, dial: () => Promise.resolve(connection), received: () => received };
}

async function echo(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, url, headers } = request;
  const body = await text(request);
  response.setHeader("x-answer", "yes").end(JSON.stringify({ method, url, headers, body }));
}

Deno.test("fetch() over the mesh → method, path, headers and body; the answer as the platform has it", async () => {
  await withMesh(echo, async (fetch, asked) => {
    const response = await fetch("http://builder:8080/tasks?state=open#part", {
      method: "POST",
      headers: { "x-mine": "1" },
      body: "hällo",
    });
    assert.deepEqual([response.status, response.ok, response.redirected], [200, true, false]);
    assert.equal(response.headers.get("x-answer"), "yes");
    const { method, url, headers, body } = await response.json();
    assert.deepEqual([method, url, body], ["POST", "/tasks?state=open", "hällo"]);
    assert.equal(headers.host, "builder:8080");
    assert.equal(headers["x-mine"], "1");
    assert.equal(headers["content-length"], "6");
    assert.match(headers["content-type"], /^text\/plain/);
    await (await fetch("http://[fd00::2]/")).json();
    assert.deepEqual(asked, [{ host: "builder", port: 8080 }, { host: "fd00::2", port: 80 }]);
  });
});

Deno.test("fetch() with a stream as body → sent in chunks; HEAD and 204 → no body", async () => {
  await withMesh(async (request, response) => {
    if (request.method === "HEAD" || request.url === "/204") {
      return void response.writeHead(request.url === "/204" ? 204 : 200).end();
    }
    await echo(request, response);
  }, async (fetch) => {
    const body = new Blob(["one ", "two"]).stream();
    const streamed = await fetch("http://builder/", {
      ...{ method: "PUT", body, duplex: "half" } as RequestInit,
    });
    const answer = await streamed.json();
    assert.deepEqual([answer.body, answer.headers["transfer-encoding"]], ["one two", "chunked"]);
    for (const [url, init] of [["/", { method: "HEAD" }], ["/204", {}]] as const) {
      const response = await fetch(`http://builder${url}`, init);
      assert.equal(response.body, null);
    }
  });
});

Deno.test("fetch() of a redirect → followed as the platform does; a credential goes to no other peer", async () => {
  await withMesh(async (request, response) => {
    const [, status] = /^\/go\/(\d+)/.exec(request.url ?? "") ?? [];
    if (status === undefined) return await echo(request, response);
    response.writeHead(Number(status), { location: "http://other:81/end" }).end();
  }, async (fetch, asked) => {
    const init = { method: "POST", body: "b", headers: { authorization: "secret" } };
    for (
      const [status, method, body] of [
        [301, "GET", ""],
        [303, "GET", ""],
        [307, "POST", "b"],
        [308, "POST", "b"],
      ] as const
    ) {
      const response = await fetch(`http://builder:80/go/${status}`, init);
      const answer = await response.json();
      assert.deepEqual([answer.method, answer.body, answer.url], [method, body, "/end"]);
      assert.deepEqual([response.redirected, response.url], [true, "http://other:81/end"]);
      assert.equal(answer.headers.authorization, undefined);
      assert.equal(answer.headers.host, "other:81");
    }
    assert.deepEqual(new Set(asked.map(({ host }) => host)), new Set(["builder", "other"]));
    const manual = await fetch("http://builder/go/302", { redirect: "manual" });
    assert.deepEqual([manual.status, manual.headers.get("location")], [302, "http://other:81/end"]);
    await assert.rejects(fetch("http://builder/go/302", { redirect: "error" }), TypeError);
  });
});

Deno.test("fetch() that turns in circles, of another protocol, or aborted → an error", async () => {
  await withMesh((request, response) => {
    if (request.url === "/silent") return;
    response.writeHead(302, { location: "/again" }).end();
  }, async (fetch, asked) => {
    await assert.rejects(fetch("http://builder/"), /20 redirects/);
    assert.equal(asked.length, 21);
    await assert.rejects(fetch("ftp://builder/"), TypeError);
    const controller = new AbortController();
    const silent = fetch("http://builder/silent", { signal: controller.signal });
    setTimeout(() => controller.abort(new Error("Enough.")), 20);
    await assert.rejects(silent, /Enough/);
    await assert.rejects(
      fetch("http://builder/", { signal: AbortSignal.abort(new Error("Before.")) }),
      /Before/,
    );
  });
});

Deno.test("fetch() of an answer that is not valid HTTP → an error, and the connection is closed", async () => {
  const answers = [
    "HTTP/1.1 000 x\r\n\r\n",
    "HTTP/1.1 999 x\r\ncontent-length: 0\r\n\r\n",
    "HTTP/1.1 200 a\x01b\r\ncontent-length: 0\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
    "HTTP/1.1 302 Found\r\nlocation: http://[\r\n\r\n",
  ];
  for (const answer of answers) {
    const { connection, dial } = peerThatSays(answer);
    await assert.rejects(meshFetch(dial, "http://builder/"), Error, answer);
    assert.ok(connection.destroyed, answer);
  }
});

Deno.test("fetch() with DELETE and a stream as body → the body is sent in chunks", async () => {
  const { dial, received } = peerThatSays("HTTP/1.1 204 Done\r\n\r\n");
  const body = new Blob(["one"]).stream();
  await meshFetch(dial, "http://builder/", {
    ...{ method: "DELETE", body, duplex: "half" } as RequestInit,
  });
  assert.match(received(), /^transfer-encoding: chunked\r$/im);
  assert.match(received(), /\r\n\r\n3\r\none\r\n0\r\n\r\n$/);
});

Deno.test("an answer that ends with its connection, which breaks midway → the body fails; when it ends → the whole body", async () => {
  for (const breaks of [true, false]) {
    const { connection, dial } = peerThatSays("HTTP/1.1 200 OK\r\n\r\nhalf");
    const response = await meshFetch(dial, "http://builder/");
    const reader = response.body!.getReader();
    assert.equal(new TextDecoder().decode((await reader.read()).value), "half");
    if (breaks) {
      connection.destroy(new Error("The connection was reset."));
      await assert.rejects(reader.read());
    } else {
      connection.push(null);
      assert.equal((await reader.read()).done, true);
    }
  }
});

Deno.test("a whole answer, whose connection breaks while the body of the request is being sent → the whole answer", async () => {
  const answer = "HTTP/1.1 413 Too Large\r\ncontent-length: 9\r\n\r\ntoo large";
  const connection = new Duplex({
    read: () => {},
    write(_chunk, _encoding, done) {
      if (this.readableLength === 0) this.push(answer, "latin1");
      done();
    },
  });
  const response = await meshFetch(() => Promise.resolve(connection), "http://builder/", {
    method: "POST",
    body: new ReadableStream({ start: (body) => body.enqueue(new Uint8Array(3)) }),
    duplex: "half",
  } as RequestInit);
  assert.equal(response.status, 413);
  connection.destroy(new Error("The connection was reset."));
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(await response.text(), "too large");
});
