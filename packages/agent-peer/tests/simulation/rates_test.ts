/** How much of a link one connection uses, in simulated time: the same on every machine. */
import assert from "node:assert/strict";
import { Random } from "../../../../tests/seeds/random.ts";
import { IpStack } from "../../ip/ip_stack.ts";
import { readLwip } from "../../ip/read_lwip.ts";
import { LinkDirection } from "../stack/emulated_link.ts";
import { simulateGlobals } from "./clock/globals.ts";
import { Timeline } from "./clock/timeline.ts";

interface Link {
  readonly roundTripMs: number;
  /** A share, from 0 to 1, each way. */
  readonly loss: number;
  readonly mbits: number;
  /** The router's queue, as a multiple of rate × round trip. */
  readonly queue: number;
}

interface Used {
  /** Of the link's rate, by connection, in the last half of the time. */
  readonly shares: readonly number[];
  /** Of the packets that were sent. */
  readonly dropped: number;
}

const CLIENT = "10.213.0.1";
const SERVER = "10.213.0.2";

async function sendAlways(client: IpStack): Promise<void> {
  const connection = await client.connect({ address: SERVER, port: 80 });
  const chunk = new Uint8Array(65536);
  for (;;) await connection.write(chunk);
}

/** Each connection sends as much as it can. They begin two seconds after each other. */
async function use(
  { roundTripMs, loss, mbits, queue }: Link,
  { connections, seconds }: { readonly connections: number; readonly seconds: number },
): Promise<Used> {
  const wasm = await readLwip();
  const timeline = new Timeline();
  const undo = simulateGlobals(timeline, new Random(1));
  try {
    const queueBytes = queue * mbits * 125 * roundTripMs;
    const delayMs = roundTripMs / 2;
    const there = new LinkDirection({ delayMs, loss, seed: 1, rate: { mbits, queueBytes } });
    const back = new LinkDirection({ delayMs, loss, seed: 2 });
    const client = await IpStack.create({
      wasm,
      addresses: [CLIENT],
      onOutput: (packets) => there.send(packets),
    });
    const server = await IpStack.create({
      wasm,
      addresses: [SERVER],
      onOutput: (packets) => back.send(packets),
    });
    there.receiver = server;
    back.receiver = client;
    const received = new Map<number, number>();
    server.listen(80, async (connection) => {
      const { remotePort } = connection;
      for (let bytes; (bytes = await connection.read()) !== null;) {
        received.set(remotePort, (received.get(remotePort) ?? 0) + bytes.length);
      }
    });
    for (let index = 0; index < connections; index++) {
      // Closing the stack ends it.
      setTimeout(() => void sendAlways(client).catch(() => {}), 2000 * index);
    }
    await timeline.runUntil(seconds * 500);
    const before = new Map(received);
    await timeline.runUntil(seconds * 1000);
    const shares = [...received].map(([port, bytes]) =>
      (bytes - (before.get(port) ?? 0)) / (mbits * 125_000 * seconds / 2)
    );
    client.close();
    server.close();
    there.close();
    back.close();
    return { shares, dropped: there.dropped / there.sent };
  } finally {
    undo();
  }
}

const ALONE: readonly (Link & { readonly least: number })[] = [
  { roundTripMs: 20, loss: 0, mbits: 200, queue: 1, least: 0.9 },
  { roundTripMs: 20, loss: 0.01, mbits: 200, queue: 1, least: 0.7 },
  { roundTripMs: 80, loss: 0, mbits: 200, queue: 1, least: 0.9 },
  // The receiver's window of 2 MiB must also hold what arrived behind a lost packet.
  { roundTripMs: 80, loss: 0.01, mbits: 200, queue: 1, least: 0.4 },
  { roundTripMs: 80, loss: 0.01, mbits: 20, queue: 0.5, least: 0.8 },
];

for (const { least, ...link } of ALONE) {
  Deno.test(`one connection, ${JSON.stringify(link)} → at least ${least} of the link`, async () => {
    const { shares: [share], dropped } = await use(link, { connections: 1, seconds: 6 });
    assert.ok(share! >= least, `${share}`);
    // What it loses itself, while it looks for the link's rate.
    assert.ok(dropped <= link.loss + 0.07, `${dropped} of the packets were dropped`);
  });
}

for (const queue of [0.5, 1, 4]) {
  Deno.test(`two connections, one later, a queue of ${queue} round trips → the link is full, and each has a quarter of it at least`, async () => {
    const link = { roundTripMs: 20, loss: 0, mbits: 20, queue };
    const { shares } = await use(link, { connections: 2, seconds: 20 });
    assert.equal(shares.length, 2);
    assert.ok(shares[0]! + shares[1]! >= 0.9, `${shares}`);
    assert.ok(Math.min(...shares) >= 0.25, `${shares}`);
  });
}
