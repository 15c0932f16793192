/** One neighbour uses all that it can of a stack. Who else suffers? */
import assert from "node:assert/strict";
import { type FilterPeer, PacketFilter } from "../../ip/filter/packet_filter.ts";
import { IpStack } from "../../ip/ip_stack.ts";
import { readLwip } from "../../ip/read_lwip.ts";
import { MOST_CONNECTIONS, NeighbourShares } from "../../ip/shares/neighbour_shares.ts";
import type { TcpConnection } from "../../ip/tcp_connection.ts";
import { ACK, icmpPacket, PSH, RST, SYN, tcpPacket } from "../packet_filter/packets.ts";
import { readText, writeText } from "./transfer.ts";

/** Less than the default, so that few packets are enough. */
const BYTES = 8 * 1024 * 1024;
const SERVER = "10.213.0.1";
const HONEST = "10.213.0.2";
const greedy = (index: number) => `10.213.1.${index + 1}`;

/**
 * A sandbox peer that echoes at ports 80 and 81, with an honest neighbour and greedy ones. Nothing
 * listens at port 82, which the rules allow.
 */
class Site implements Disposable {
  readonly shares: NeighbourShares = new NeighbourShares({
    bytes: BYTES,
    isListening: (port) => this.server.isListening(port),
  });
  readonly accepted: TcpConnection[] = [];
  #filter: PacketFilter;
  server!: IpStack;
  honest!: IpStack;
  /** The packets that the server sent to greedy neighbours, by address. */
  readonly answers = new Map<string, Uint8Array[]>();

  private constructor(greedyCount: number) {
    const addresses = [HONEST, ...Array.from({ length: greedyCount }, (_, index) => greedy(index))];
    const peers = addresses.map((address): FilterPeer => (
      { addresses: [address], inbound: [80, 81, 82], outbound: [] }
    ));
    this.#filter = new PacketFilter({ addresses: [SERVER], peers }, {
      connections: () => this.server.connections,
    });
    this.shares.update(new Map(addresses.map((address) => [address, [address]])));
  }

  static async create(greedyCount: number): Promise<Site> {
    const site = new Site(greedyCount);
    const wasm = await readLwip();
    site.server = await IpStack.create({
      wasm,
      addresses: [SERVER],
      watcher: site.shares,
      onOutput: (packets) => packets.forEach((packet) => site.#deliver(packet)),
    });
    site.honest = await IpStack.create({
      wasm,
      addresses: [HONEST],
      onOutput: (packets) => queueMicrotask(() => packets.forEach((packet) => site.input(packet))),
    });
    for (const port of [80, 81]) site.listen(port);
    return site;
  }

  listen(port: number): void {
    this.server.listen(port, async (connection) => {
      this.accepted.push(connection);
      for (let bytes; (bytes = await connection.read()) !== null;) await connection.write(bytes);
      await connection.end();
    });
  }

  /** As the engine does it with a packet of the tunnel. */
  input(packet: Uint8Array): void {
    const allowed = this.#filter.allowed(packet);
    if (allowed !== null && this.shares.admits(allowed)) this.server.input(packet);
  }

  #deliver(packet: Uint8Array): void {
    const to = packet.subarray(16, 20).join(".");
    if (to === HONEST) queueMicrotask(() => this.honest.input(packet));
    else if ((packet[33]! & (SYN | RST)) !== 0) {
      this.answers.set(to, [...this.answers.get(to) ?? [], packet]);
    }
  }

  /** Does everything that a well-behaved neighbour wants. */
  async serveHonest(port: number): Promise<void> {
    const connections = await Promise.all(
      Array.from({ length: 6 }, () => this.honest.connect({ address: SERVER, port })),
    );
    for (const connection of connections) {
      await writeText(connection, "hello".repeat(10_000));
      await connection.end();
    }
    for (const connection of connections) {
      assert.equal((await readText(connection)).length, 50_000);
    }
  }

  [Symbol.dispose](): void {
    this.server.close();
    this.honest.close();
  }
}

/** A greedy neighbour's connection, as far as a stack is needed for that. */
function open(site: Site, from: string, fromPort: number): number {
  // With window scaling (RFC 7323), so that the window is large.
  const options = [1, 3, 3, 7];
  site.input(tcpPacket({ from, to: SERVER }, {
    fromPort,
    toPort: 80,
    flags: SYN,
    sequence: 1000,
    options,
  }));
  return fromPort;
}

/** Resolves to what each connection has to acknowledge, by its port. */
async function establish(
  site: Site,
  from: string,
  ports: readonly number[],
): Promise<Map<number, number>> {
  const acknowledgements = new Map<number, number>();
  for (const port of ports) open(site, from, port);
  await new Promise((resolve) => setTimeout(resolve, 0));
  for (const answer of site.answers.get(from) ?? []) {
    const view = new DataView(answer.buffer, answer.byteOffset);
    if ((answer[33]! & SYN) === 0) continue;
    const acknowledged = (view.getUint32(24) + 1) >>> 0;
    const fromPort = view.getUint16(22);
    acknowledgements.set(fromPort, acknowledged);
    site.input(tcpPacket({ from, to: SERVER }, {
      fromPort,
      toPort: 80,
      flags: ACK,
      sequence: 1001,
      acknowledged,
    }));
  }
  site.answers.delete(from);
  return acknowledgements;
}

const PORTS = Array.from({ length: 60_000 }, (_, index) => 1024 + index);

/** Sends 1.9 MB on each of several connections, which begin so many bytes late. */
async function sendFrom(site: Site, from: string, late: number): Promise<void> {
  const ports = PORTS.slice(0, 6);
  const acknowledgements = await establish(site, from, ports);
  for (let packets = 0; packets < 1600; packets++) {
    for (const fromPort of ports) {
      site.input(tcpPacket({ from, to: SERVER }, {
        fromPort,
        toPort: 80,
        flags: ACK | PSH,
        payload: 1200,
        acknowledged: acknowledgements.get(fromPort)!,
        sequence: 1001 + late + packets * 1200,
      }));
    }
    // The service echoes meanwhile.
    if (packets % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 0));
  }
}

const ATTACKS: Readonly<Record<string, (site: Site, from: string) => void | Promise<void>>> = {
  async "idle connections without end"(site, from) {
    for (let at = 0; at < MOST_CONNECTIONS; at += 100) {
      await establish(site, from, PORTS.slice(at, at + 100));
    }
  },
  "SYNs that are never completed"(site, from) {
    for (const port of PORTS.slice(0, 3000)) open(site, from, port);
  },
  async "bytes out of order on many connections"(site, from) {
    await sendFrom(site, from, 1240);
  },
  async "bytes whose echo is never acknowledged"(site, from) {
    await sendFrom(site, from, 0);
  },
  "echo requests and fragments"(site, from) {
    const ends = { from, to: SERVER };
    for (let count = 0; count < 3000; count++) {
      site.input(icmpPacket(ends, 8));
      const fragment = tcpPacket(ends, { fromPort: 1, toPort: 80, flags: SYN });
      fragment[6] = 0x20;
      site.input(fragment);
    }
  },
};

for (const [name, attack] of Object.entries(ATTACKS)) {
  for (const count of [1, 4]) {
    Deno.test(`${name}, by ${count} of the neighbours → another one is served as before; the greedy ones are counted`, async () => {
      using site = await Site.create(count);
      const attackers = Array.from({ length: count }, (_, index) => greedy(index));
      for (const from of attackers) await attack(site, from);
      await site.serveHonest(80);
      await site.serveHonest(81);
      assert.equal(site.shares.useOf(HONEST).refused, 0);
      const uses = attackers.map((from) => site.shares.useOf(from));
      for (const { refused } of uses) assert.ok(refused > 0, JSON.stringify(uses));
      const held = uses.reduce((sum, { heldBytes }) => sum + heldBytes, 0);
      assert.ok(held <= BYTES, `${held} bytes`);
      const { memoryBytes } = site.server;
      assert.ok(memoryBytes <= 2 * BYTES, `${memoryBytes} bytes`);
      const open = uses.reduce((sum, { connections }) => sum + connections, 0);
      assert.ok(open <= MOST_CONNECTIONS, `${open} connections`);
    });
  }
}

Deno.test("everything ends → nothing is held any more", async () => {
  using site = await Site.create(1);
  await ATTACKS["bytes out of order on many connections"]!(site, greedy(0));
  await site.serveHonest(80);
  site.server.reset(() => true);
  for (const neighbour of [HONEST, greedy(0)]) {
    const { connections, heldBytes } = site.shares.useOf(neighbour);
    assert.deepEqual([connections, heldBytes], [0, 0]);
  }
});

Deno.test("3,000 SYNs to a port where nothing listens → each is answered with a reset, and none is counted; as soon as it listens → served", async () => {
  using site = await Site.create(1);
  const from = greedy(0);
  for (const fromPort of PORTS.slice(0, 3000)) {
    site.input(tcpPacket({ from, to: SERVER }, { fromPort, toPort: 82, flags: SYN }));
  }
  await new Promise((resolve) => setTimeout(resolve, 0));
  const resets = (site.answers.get(from) ?? []).filter((packet) => (packet[33]! & RST) !== 0);
  assert.equal(resets.length, 3000);
  assert.deepEqual(site.shares.useOf(from), { connections: 0, heldBytes: 0, refused: 0 });

  site.listen(82);
  site.answers.delete(from);
  for (const fromPort of PORTS.slice(0, 100)) {
    site.input(tcpPacket({ from, to: SERVER }, { fromPort, toPort: 82, flags: SYN }));
  }
  await new Promise((resolve) => setTimeout(resolve, 0));
  const answers = site.answers.get(from) ?? [];
  assert.deepEqual(new Set(answers.map((packet) => packet[33]! & (SYN | RST))), new Set([SYN]));
  await site.serveHonest(82);
  assert.equal(site.shares.useOf(from).refused, 0);
});
