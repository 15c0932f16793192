import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { socksServer } from "../../mesh/proxies/socks5.ts";
import { exchange, pretendedMesh, withServer } from "./proxy_clients.ts";

const TOKEN = "the-token";
const NO_METHOD = [5, 1, 0];
const PASSWORD_METHOD = [5, 1, 2];

function credentials(user: string, password: string): Buffer {
  return Buffer.concat([
    Buffer.from([1, user.length]),
    Buffer.from(user),
    Buffer.from([password.length]),
    Buffer.from(password),
  ]);
}

/** A SOCKS5 greeting and a request (by default CONNECT) to a name. */
function connectTo(host: string, port: number, command = 1): Buffer {
  return Buffer.concat([
    Buffer.from([5, command, 0, 3, host.length]),
    Buffer.from(host),
    Buffer.from([port >> 8, port & 255]),
  ]);
}

function reply(code: number): number[] {
  return [5, code, 0, 1, 0, 0, 0, 0, 0, 0];
}

Deno.test("SOCKS5 with the token → connected by name, and every byte back, however it is cut", async () => {
  const { dial, dialled } = pretendedMesh();
  await withServer(socksServer({ dial, token: TOKEN, udp: null }), async (port) => {
    const sent = Buffer.concat([
      Buffer.from(PASSWORD_METHOD),
      credentials("mesh", TOKEN),
      connectTo("builder", 80),
      Buffer.from("hello"),
    ]);
    const expected = Buffer.concat([
      Buffer.from([5, 2, 1, 0, ...reply(0)]),
      Buffer.from("hello"),
    ]);
    assert.deepEqual(await exchange(port, [sent]), expected);
    assert.deepEqual(await exchange(port, [...sent].map((byte) => Buffer.from([byte]))), expected);
  });
  assert.deepEqual(dialled, Array(2).fill({ host: "builder", port: 80 }));
});

Deno.test("SOCKS5 with addresses → dialled in their canonical form", async () => {
  const { dial, dialled } = pretendedMesh();
  await withServer(socksServer({ dial, token: null, udp: null }), async (port) => {
    for (
      const address of [
        [1, 10, 213, 0, 2],
        [4, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2],
      ]
    ) {
      const request = Buffer.from([...NO_METHOD, 5, 1, 0, ...address, 0, 80]);
      assert.deepEqual(await exchange(port, [request]), Buffer.from([5, 0, ...reply(0)]));
    }
  });
  assert.deepEqual(dialled.map(({ host }) => host), ["10.213.0.2", "fd00::2"]);
});

Deno.test("SOCKS5 without the token, with a wrong one, or with another method → refused, and nothing is dialled", async () => {
  const { dial, dialled } = pretendedMesh();
  await withServer(socksServer({ dial, token: TOKEN, udp: null }), async (port) => {
    const target = connectTo("builder", 80);
    assert.deepEqual(
      await exchange(port, [Buffer.from(NO_METHOD), target]),
      Buffer.from([5, 0xff]),
    );
    for (const [user, password] of [["mesh", "wrong"], ["other", TOKEN], ["mesh", ""], ["", ""]]) {
      const sent = Buffer.concat([Buffer.from(PASSWORD_METHOD), credentials(user!, password!)]);
      assert.deepEqual(await exchange(port, [sent, target]), Buffer.from([5, 2, 1, 1]));
    }
  });
  assert.deepEqual(dialled, []);
});

Deno.test("SOCKS5 whose connection fails → the reply that says why", async () => {
  const { dial } = pretendedMesh();
  await withServer(socksServer({ dial, token: null, udp: null }), async (port) => {
    for (const [target, code] of [[1, 2], [2, 4], [3, 5], [4, 6], [5, 1]] as const) {
      const sent = Buffer.concat([Buffer.from(NO_METHOD), connectTo("builder", target)]);
      assert.deepEqual(await exchange(port, [sent]), Buffer.from([5, 0, ...reply(code)]));
    }
  });
});

Deno.test("SOCKS5: BIND, UDP, an unknown kind of address, SOCKS4, HTTP → refused, and nothing is dialled", async () => {
  const { dial, dialled } = pretendedMesh();
  await withServer(socksServer({ dial, token: null, udp: null }), async (port) => {
    for (const command of [2, 3]) {
      const sent = Buffer.concat([Buffer.from(NO_METHOD), connectTo("builder", 80, command)]);
      assert.deepEqual(await exchange(port, [sent]), Buffer.from([5, 0, ...reply(7)]));
    }
    const unknown = Buffer.from([...NO_METHOD, 5, 1, 0, 9, 0, 0]);
    assert.deepEqual(await exchange(port, [unknown]), Buffer.from([5, 0, ...reply(8)]));
    for (const other of [Buffer.from([4, 1, 0, 80, 10, 0, 0, 1, 0]), "GET / HTTP/1.1\r\n\r\n"]) {
      assert.deepEqual(await exchange(port, [other]), Buffer.alloc(0));
    }
  });
  assert.deepEqual(dialled, []);
});

Deno.test("SOCKS5 whose client goes away midway → the server goes on", async () => {
  const { dial, dialled } = pretendedMesh();
  await withServer(socksServer({ dial, token: null, udp: null }), async (port) => {
    for (const part of [[], [5], [5, 1], [...NO_METHOD, 5, 1, 0, 3, 7, 98]]) {
      await exchange(port, [Buffer.from(part)]);
    }
    const sent = Buffer.concat([Buffer.from(NO_METHOD), connectTo("builder", 80)]);
    assert.deepEqual(await exchange(port, [sent]), Buffer.from([5, 0, ...reply(0)]));
  });
  assert.equal(dialled.length, 1);
});
