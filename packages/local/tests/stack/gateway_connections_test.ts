import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { openGateway, openGatewayTo } from "./own_gateway.ts";

Deno.test("requests with a short body or none, one after the other → one connection to the upstream", async () => {
  const ports = new Set<number>();
  await using gateway = await openGateway((request, { remoteAddr }) => {
    ports.add((remoteAddr as Deno.NetAddr).port);
    return new Response(request.body);
  });
  for (
    const [method, body] of [["POST", "one"], ["GET", null], ["POST", ""], ["PUT", "two"]] as const
  ) {
    const response = await fetch(`${gateway.url}/functions/v1/echo`, { method, body });
    assert.equal(await response.text(), body ?? "");
  }
  assert.equal(ports.size, 1);
});

Deno.test("an upstream that restarts between two requests → both are answered", async () => {
  let arrived = 0;
  await using gateway = await openGateway(() => new Response(String(++arrived)));
  for (const method of ["POST", "GET", "POST"]) {
    const before = arrived;
    const send = () => fetch(`${gateway.url}/functions/v1/echo`, { method });
    assert.equal(await (await send()).text(), String(before + 1));
    await gateway.restartUpstream();
    const response = await send();
    assert.equal(`${response.status} ${await response.text()}`, `200 ${before + 2}`);
  }
});

/** An upstream that answers the first request of a connection and resets it at the second. */
async function openFickleUpstream() {
  const arrived: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let requests = 0;
    socket.on("error", () => {});
    socket.on("data", (data) => {
      // Count only heads: a body may arrive separately.
      const [, method] = /^([A-Z]+) \S+ HTTP\//.exec(data.toString()) ?? [];
      if (method === undefined) return;
      arrived.push(method);
      if (++requests > 1) socket.destroy();
      else socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  return {
    port: (server.address() as AddressInfo).port,
    arrived,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

for (const [method, status, times] of [["GET", 200, 2], ["POST", 503, 1]] as const) {
  Deno.test(`a ${method} that reached the upstream before its open connection broke → ${status}, sent ${times === 1 ? "once" : "twice"}`, async () => {
    await using upstream = await openFickleUpstream();
    const gateway = await openGatewayTo(upstream.port);
    const url = `${gateway.url}/functions/v1/echo`;
    assert.equal(await (await fetch(url, { method: "PUT", body: "hello" })).text(), "ok");
    const response = await fetch(url, { method });
    await response.body?.cancel();
    assert.equal(response.status, status);
    assert.deepEqual(upstream.arrived, ["PUT", ...Array(times).fill(method)]);
    await gateway.stop();
  });
}

Deno.test("20 MB sent and answered as they come → the same bytes", async () => {
  await using gateway = await openGateway((request) => new Response(request.body));
  const bytes = new Uint8Array(20_000_000).map((_, index) => index % 251);
  for (const body of [bytes, new Blob([bytes]).stream()]) {
    const response = await fetch(`${gateway.url}/functions/v1/echo`, { method: "POST", body });
    assert.equal(Buffer.compare(Buffer.from(await response.arrayBuffer()), bytes), 0);
  }
});

Deno.test("a caller that goes away within an endless answer → the upstream's is ended", async () => {
  const ended = Promise.withResolvers<string>();
  await using gateway = await openGateway(() =>
    new Response(
      new ReadableStream({
        pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
        cancel: () => ended.resolve("ended"),
      }),
    )
  );
  const response = await fetch(`${gateway.url}/functions/v1/echo`);
  const reader = response.body!.getReader();
  await reader.read();
  await reader.cancel();
  assert.equal(await ended.promise, "ended");
});

Deno.test("a caller that goes away before the answer → the upstream's request is aborted", async () => {
  const arrived = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<string>();
  await using gateway = await openGateway(async (request) => {
    request.signal.addEventListener("abort", () => aborted.resolve("aborted"));
    arrived.resolve();
    await aborted.promise;
    return new Response(null);
  });
  const abort = new AbortController();
  const request = fetch(`${gateway.url}/functions/v1/echo`, {
    method: "POST",
    body: "hello",
    signal: abort.signal,
  });
  await arrived.promise;
  abort.abort();
  await assert.rejects(request);
  assert.equal(await aborted.promise, "aborted");
});
