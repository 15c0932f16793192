/** Datagrams between two engines in one process. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { Datagram } from "../../ip/udp/receive_queue.ts";
import type { EngineUdpPort } from "../../mesh/engine/engine.ts";
import type { Flow } from "../../mesh/flows/flow.ts";
import { Engines, type Side } from "./engines.ts";

const RULE = { from: "planner", to: "builder", port: 53, proto: "udp" } as const;

async function next(port: EngineUdpPort): Promise<Datagram> {
  // Otherwise a datagram that is missing would make the test wait for ever.
  const giveUp = setTimeout(() => port.close(), 60_000);
  const [datagram, ...others] = await port.receive();
  clearTimeout(giveUp);
  assert.ok(datagram !== undefined && others.length === 0, "one datagram");
  return datagram;
}

/** Waits until a side has been told so many flows. */
async function told({ told, name }: Side, count: number): Promise<Flow[]> {
  const until = performance.now() + 60_000;
  while (told.length < count) {
    if (performance.now() > until) throw new Error(`${name} was told ${JSON.stringify(told)}`);
    await new Promise((go) => setTimeout(go, 10));
  }
  return told;
}

const summary = (
  { proto, direction, name, port, end, reason }: Flow,
) => [proto, direction, name, port, end, reason];

Deno.test("datagrams of every size, and their answers → each whole and once, with the sender's address and port; flows on both sides", async () => {
  await using engines = await Engines.open();
  const { planner, builder } = engines;
  await engines.setRules([RULE]);
  const server = await builder.engine.bindUdp(53);
  const client = await planner.engine.bindUdp(0);
  let bytes = 0;
  for (const size of [0, 1, 512, 1251, 1252]) {
    const data = new Uint8Array(randomBytes(size));
    assert.equal(await client.send(data, { address: builder.address, port: 53 }), true);
    const arrived = await next(server);
    assert.deepEqual(arrived, { data, address: planner.address, port: client.port });
    assert.equal(await server.send(data, arrived), true);
    assert.deepEqual(await next(client), { data, address: builder.address, port: 53 });
    bytes += size;
  }
  const [[out, ...outs], [into, ...ins]] = [
    await planner.engine.flows(),
    await builder.engine.flows(),
  ];
  assert.deepEqual([...outs, ...ins], []);
  assert.deepEqual(summary(out!), ["udp", "out", "builder", 53, null, null]);
  assert.deepEqual(summary(into!), ["udp", "in", "planner", 53, null, null]);
  for (const { sentBytes, receivedBytes } of [out!, into!]) {
    assert.deepEqual([sentBytes, receivedBytes], [bytes, bytes]);
  }
  client.close();
  assert.deepEqual(await client.receive(), []);
  assert.deepEqual(summary((await told(planner, 1))[0]!).slice(4), ["clean", null]);
});

Deno.test("a rule for TCP at the same port → no datagram leaves, and none that the other side sends comes in", async () => {
  await using engines = await Engines.open();
  const { planner, builder } = engines;
  await engines.setRules([RULE], ["planner"]);
  await engines.setRules([{ ...RULE, proto: "tcp" }], ["builder"]);
  const server = await builder.engine.bindUdp(53);
  const client = await planner.engine.bindUdp(0);
  assert.equal(await client.send(new Uint8Array(1), { address: builder.address, port: 53 }), true);
  const [refused] = await told(builder, 1);
  assert.deepEqual(summary(refused!), ["udp", "in", "planner", 53, "refused", "no_rule"]);
  assert.equal(
    await server.send(new Uint8Array(1), { address: planner.address, port: client.port }),
    false,
  );
  await engines.setRules([{ ...RULE, proto: "tcp" }], ["planner"]);
  assert.equal(await client.send(new Uint8Array(1), { address: builder.address, port: 53 }), false);
});

Deno.test("a rule that one side revokes → its datagrams and answers stop there; with the rule, they go on", async () => {
  await using engines = await Engines.open();
  const { planner, builder } = engines;
  await engines.setRules([RULE]);
  const server = await builder.engine.bindUdp(53);
  const client = await planner.engine.bindUdp(0);
  const ask = () => client.send(Uint8Array.of(1), { address: builder.address, port: 53 });
  await ask();
  const asked = await next(server);
  await engines.setRules([], ["builder"]);
  assert.equal(await server.send(Uint8Array.of(2), asked), false);
  const [ended] = await told(builder, 1);
  assert.deepEqual(summary(ended!), ["udp", "in", "planner", 53, "reset", "rule_revoked"]);
  assert.equal(await ask(), true);
  assert.deepEqual(summary((await told(builder, 2))[1]!).slice(4), ["refused", "no_rule"]);
  await engines.setRules([RULE]);
  await ask();
  assert.equal(await server.send(Uint8Array.of(3), await next(server)), true);
  assert.deepEqual((await next(client)).data, Uint8Array.of(3));
});

Deno.test("a datagram to a port where nothing listens → the other side's log says so; UDP and TCP share no ports", async () => {
  await using engines = await Engines.open();
  const { planner, builder } = engines;
  await engines.setRules([RULE]);
  await builder.engine.listen(53, () => assert.fail("not by TCP"));
  const client = await planner.engine.bindUdp(0);
  await client.send(Uint8Array.of(1), { address: builder.address, port: 53 });
  const [refused] = await told(builder, 1);
  assert.deepEqual(summary(refused!), ["udp", "in", "planner", 53, "refused", "nothing_listens"]);
  await builder.engine.bindUdp(53);
  await assert.rejects(builder.engine.bindUdp(53), { code: "EADDRINUSE" });
});

Deno.test("a neighbour that floods while nobody reads → bounded, counted in its use, and nothing is read of a closed engine", async () => {
  const engines = await Engines.open();
  const { planner, builder } = engines;
  await engines.setRules([RULE]);
  const server = await builder.engine.bindUdp(53);
  const client = await planner.engine.bindUdp(0);
  const to = { address: builder.address, port: 53 };
  await client.send(new Uint8Array(1), to);
  await next(server);
  const use = () => builder.engine.peers()[0]!.use;
  const until = performance.now() + 60_000;
  while (use().refused === 0) {
    assert.ok(performance.now() < until, JSON.stringify(use()));
    for (let number = 0; number < 500; number++) void client.send(new Uint8Array(1252), to);
    await new Promise((go) => setTimeout(go, 0));
  }
  assert.ok(use().heldBytes > 1024 * 1024 && use().heldBytes <= 4 * 1024 * 1024);
  const other = await builder.engine.bindUdp(0);
  const waiting = other.receive();
  await engines[Symbol.asyncDispose]();
  assert.deepEqual([await waiting, await server.receive()], [[], []]);
});
