/** `--forward-udp`, `--expose-udp` and SOCKS5's UDP ASSOCIATE at a simulated mesh. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { connect, type Socket } from "node:net";
import { parseUdpForwarding } from "../../mesh/proxies/forward.ts";
import { socksServer } from "../../mesh/proxies/socks5.ts";
import { exposeUdp } from "../../mesh/proxies/udp/expose_udp.ts";
import { forwardUdp } from "../../mesh/proxies/udp/forward_udp.ts";
import { unwrap, wrap } from "../../mesh/proxies/udp/socks_relay.ts";
import { exchange, withServer } from "./proxy_clients.ts";
import { PretendedUdp, Program } from "./udp_mesh.ts";

const dial = () => Promise.reject(new Error("Nothing is dialled."));

/** Waits for something that another socket does. */
async function until(isTrue: () => boolean): Promise<void> {
  const giveUp = AbortSignal.timeout(60_000);
  while (!isTrue()) {
    giveUp.throwIfAborted();
    await new Promise((go) => setTimeout(go, 5));
  }
}

Deno.test("parseUdpForwarding() → a port of 127.0.0.1 and a port of a peer; null for anything else", () => {
  const dns = { localPort: 5353, host: "dns", port: 53 };
  for (const text of ["5353=dns:53", "127.0.0.1:5353=dns:53", "localhost:5353=dns:53"]) {
    assert.deepEqual(parseUdpForwarding(text), dns);
  }
  assert.deepEqual(parseUdpForwarding("0=[fd00::2]:53"), {
    localPort: 0,
    host: "fd00::2",
    port: 53,
  });
  const wrong = ["", "5353", "5353=dns", "5353=dns:0", "/run/x.sock=dns:53", "[::1]:5353=dns:53"];
  for (const text of wrong) assert.equal(parseUdpForwarding(text), null, text);
});

Deno.test("--forward-udp: two programs → each gets its own answers, from the port that it sent to; what no rule allows is lost, and nothing else", async () => {
  const mesh = new PretendedUdp();
  const local = await forwardUdp(mesh.sides, { localPort: 0, host: "db", port: 53 });
  await using one = await Program.open();
  await using other = await Program.open();
  for (const round of [1, 2]) {
    for (const [program, name] of [[one, "one"], [other, "other"]] as const) {
      program.send(`${name} ${round}`, local.port);
      const { bytes, from } = await program.next();
      assert.equal(bytes.toString(), `${name} ${round}`);
      assert.equal(from.port, local.port);
    }
  }
  assert.deepEqual(mesh.ports.map(({ sent }) => sent.map(({ text }) => text)), [
    ["one 1", "one 2"],
    ["other 1", "other 2"],
  ]);
  // Another port of the peer is not what the program asked.
  mesh.ports[0]!.arrive(Buffer.from("not an answer"), 54);
  one.send("", local.port);
  assert.equal((await one.next()).bytes.length, 0);
  local.close();
  await until(() => mesh.ports.every(({ isClosed }) => isClosed));
  await assert.doesNotReject(
    forwardUdp(mesh.sides, { localPort: local.port, host: "db", port: 53 })
      .then((again) => again.close()),
  );
});

Deno.test("--forward-udp: no rule, or a mesh that fails for a moment → datagrams are lost, the next ones are passed on", async () => {
  const mesh = new PretendedUdp();
  await using program = await Program.open();
  const refused = await forwardUdp(mesh.sides, { localPort: 0, host: "db", port: 1 });
  program.send("lost", refused.port);
  await until(() => mesh.ports.length === 1);
  refused.close();
  const local = await forwardUdp(mesh.sides, { localPort: 0, host: "db", port: 53 });
  mesh.fails = true;
  program.send("lost", local.port);
  await new Promise((go) => setTimeout(go, 50));
  mesh.fails = false;
  program.send("passed", local.port);
  assert.equal((await program.next()).bytes.toString(), "passed");
  local.close();
});

Deno.test("a taken port of this machine → --forward-udp rejects, and nothing is open in the mesh", async () => {
  const mesh = new PretendedUdp();
  await using program = await Program.open();
  await assert.rejects(forwardUdp(mesh.sides, { localPort: program.port, host: "db", port: 53 }));
  assert.equal(mesh.ports.length, 0);
});

Deno.test("--expose-udp → a program gets a peer's datagrams, and its answers go to the port that asked; others of this machine cannot answer", async () => {
  const mesh = new PretendedUdp();
  await using program = await Program.open();
  const exposed = await exposeUdp(mesh.sides, { port: 53, localPort: program.port });
  const [port] = mesh.ports;
  assert.equal(port!.port, 53);
  for (const asker of [5000, 5001]) {
    port!.arrive(Buffer.from(`from ${asker}`), asker);
    const { bytes, from } = await program.next();
    assert.equal(bytes.toString(), `from ${asker}`);
    await using stranger = await Program.open();
    stranger.send("not an answer", from.port);
    program.send(`to ${asker}`, from.port);
    await until(() => port!.sent.some(({ text }) => text === `to ${asker}`));
    assert.deepEqual(port!.sent.at(-1)!.to, {
      agentId: "db-1",
      name: "db",
      address: "10.213.0.2",
      port: asker,
    });
  }
  assert.deepEqual(port!.sent.map(({ text }) => text), ["to 5000", "to 5001"]);
  exposed.close();
  assert.ok(port!.isClosed);
});

/** A SOCKS5 client that has asked for datagrams. */
async function associate(proxy: number, from = 0): Promise<{ socket: Socket; relay: number }> {
  const socket = connect({ port: proxy, host: "127.0.0.1" });
  socket.write(Buffer.from([5, 1, 0, 5, 3, 0, 1, 0, 0, 0, 0, from >> 8, from & 255]));
  let bytes = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => bytes = Buffer.concat([bytes, chunk]));
  await until(() => bytes.length >= 12);
  assert.deepEqual([...bytes.subarray(0, 10)], [5, 0, 5, 0, 0, 1, 127, 0, 0, 1]);
  return { socket, relay: bytes.readUInt16BE(10) };
}

const toName = (text: string, port = 53) =>
  Buffer.from([0, 0, 0, 3, 2, ...Buffer.from("db"), 0, port, ...Buffer.from(text)]);
const toAddress = (text: string) =>
  Buffer.from([0, 0, 0, 1, 10, 213, 0, 2, 0, 53, ...Buffer.from(text)]);

Deno.test("SOCKS5 UDP ASSOCIATE: datagrams to a name and to an address → passed on, and their answers back with the peer's address", async () => {
  const mesh = new PretendedUdp();
  await withServer(socksServer({ dial, token: null, udp: mesh.sides }), async (proxy) => {
    const { socket, relay } = await associate(proxy);
    await using program = await Program.open();
    for (const [datagram, host] of [[toName("hello"), "db"], [toAddress("hello"), "10.213.0.2"]]) {
      program.send(datagram!, relay);
      const { bytes, from } = await program.next();
      assert.deepEqual(bytes, toAddress("hello"));
      assert.equal(from.port, relay);
      assert.deepEqual(mesh.ports[0]!.sent.at(-1)!.to, { host, port: 53 });
    }
    mesh.ports[0]!.arrive(Buffer.from("x"), 53, "fd00::2");
    const fromIpv6 = [0, 0, 0, 4, 0xfd, ...new Array(14).fill(0), 2, 0, 53, 0x78];
    assert.deepEqual([...(await program.next()).bytes], fromIpv6);
    socket.end();
    await until(() => mesh.ports[0]!.isClosed && socket.closed);
  });
});

Deno.test("SOCKS5 UDP ASSOCIATE: fragments, malformed datagrams, another program's → dropped; the client's own go on", async () => {
  const mesh = new PretendedUdp();
  await withServer(socksServer({ dial, token: null, udp: mesh.sides }), async (proxy) => {
    await using program = await Program.open();
    await using stranger = await Program.open();
    for (const told of [0, program.port]) {
      const { socket, relay } = await associate(proxy, told);
      if (told !== 0) stranger.send(toName("stolen"), relay);
      const fragment = toName("fragment");
      fragment[2] = 1;
      program.send(fragment, relay);
      program.send(toName("refused", 1), relay);
      for (let length = 0; length < 9; length++) {
        program.send(toName("").subarray(0, length), relay);
      }
      program.send(toName("mine"), relay);
      assert.deepEqual((await program.next()).bytes, toAddress("mine"));
      stranger.send(toName("stolen"), relay);
      program.send(toName("last"), relay);
      assert.deepEqual((await program.next()).bytes, toAddress("last"));
      const { sent } = mesh.ports.at(-1)!;
      assert.deepEqual(sent.map(({ text }) => text), ["mine", "last"]);
      socket.destroy();
      await until(() => mesh.ports.at(-1)!.isClosed);
    }
  });
});

Deno.test("SOCKS5 UDP ASSOCIATE without the token, at a mesh that fails, or when the mesh is left → refused or ended", async () => {
  const mesh = new PretendedUdp();
  const request = Buffer.from([5, 1, 0, 5, 3, 0, 1, 0, 0, 0, 0, 0, 0]);
  await withServer(socksServer({ dial, token: "token", udp: mesh.sides }), async (proxy) => {
    assert.deepEqual(await exchange(proxy, [request]), Buffer.from([5, 0xff]));
  });
  assert.equal(mesh.ports.length, 0);
  await withServer(socksServer({ dial, token: null, udp: mesh.sides }), async (proxy) => {
    mesh.fails = true;
    const failed = [5, 0, 5, 1, 0, 1, 0, 0, 0, 0, 0, 0];
    assert.deepEqual([...await exchange(proxy, [request], { half: false })], failed);
    mesh.fails = false;
    const { socket } = await associate(proxy);
    mesh.ports[0]!.close();
    await until(() => socket.closed);
  });
});

Deno.test("unwrap() of any cut or wrong datagram → null; what wrap() makes → its parts", () => {
  for (const address of ["10.213.0.2", "fd00::2"]) {
    const whole = wrap({ address, port: 53 }, Buffer.from("hello"));
    const { data, ...to } = unwrap(whole)!;
    assert.deepEqual(to, { host: address, port: 53 });
    assert.equal(Buffer.from(data).toString(), "hello");
    for (let length = 0; length < whole.length - 5; length++) {
      assert.equal(unwrap(whole.subarray(0, length)), null, `${length} bytes`);
    }
    for (const [at, value] of [[0, 1], [1, 1], [2, 1], [2, 0x80], [3, 0], [3, 2], [3, 255]]) {
      const wrong = whole.slice();
      wrong[at!] = value!;
      assert.equal(unwrap(wrong), null, `${at}: ${value}`);
    }
    assert.equal(unwrap(wrap({ address, port: 0 }, new Uint8Array(1))), null);
  }
  assert.equal(unwrap(Uint8Array.of(0, 0, 0, 3, 0, 0, 53)), null, "a name without letters");
});
