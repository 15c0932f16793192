/**
 * A test peer without the kernel. It writes a line when it is ready, then reads commands and writes
 * answers, each one line of JSON. It answers pings. Runs under Deno and, bundled, under Node.
 */
import process from "node:process";
import { createInterface } from "node:readline";
import { openUdpSocket } from "../../../packages/agent-peer/wireguard/sockets/open_udp_socket.ts";
import type { UdpSocket } from "../../../packages/agent-peer/wireguard/sockets/udp_socket.ts";
import { systemSurroundings } from "../../../packages/agent-peer/wireguard/system_surroundings.ts";
import { type Endpoint, Tunnel } from "../../../packages/agent-peer/wireguard/tunnel.ts";
import { parseKey } from "../../../packages/agent-peer/wireguard/key.ts";
import {
  echoReply,
  echoRequest,
  replySequence,
} from "../../../packages/agent-peer/tests/wireguard/packets.ts";
import type { Command, Counts } from "./peer_protocol.ts";

const [privateKey = "", inner = ""] = process.argv.slice(2);
const system = systemSurroundings();
const counts: Counts = { sent: {}, received: {}, sources: {} };
const arrived: { readonly bytes: Uint8Array; readonly from: Endpoint }[] = [];
const replies = new Set<number>();
let [offset, sequence] = [0, 0];
let pings: {
  readonly timer: ReturnType<typeof setInterval>;
  readonly sequences: number[];
} | null = null;
let socket: UdpSocket = await open(0);

const surroundings = { ...system, now: () => system.now() + offset };
const tunnel = new Tunnel({
  privateKey: parseKey(privateKey),
  surroundings,
  send(datagram, to) {
    count(counts.sent, `${datagram[0]} ${to.address}`);
    socket.send(datagram, to);
  },
  onPacket(packet) {
    count(counts.sources, packet.subarray(12, 16).join("."));
    const reply = echoReply(packet);
    if (reply !== null) tunnel.sendPacket(reply);
    const answered = replySequence(packet);
    if (answered !== null) replies.add(answered);
  },
});

function open(port: number): Promise<UdpSocket> {
  return openUdpSocket({
    port,
    via: "udp",
    onDatagram(datagram, from) {
      count(counts.received, `${datagram[0]} ${from.address}`);
      arrived.push({ bytes: Uint8Array.from(datagram), from });
      if (arrived.length > 50) arrived.shift();
      tunnel.receiveDatagram(datagram, from);
    },
  });
}

function count(table: Record<string, number>, key: string): void {
  table[key] = (table[key] ?? 0) + 1;
}

function ping(destination: string, source = inner): number {
  sequence += 1;
  tunnel.sendPacket(
    echoRequest({ source, destination, sequence, size: 32 + sequence % 900 }),
  );
  return sequence;
}

/**
 * How many of these pings were answered. Returns when all were answered, or after three seconds.
 */
async function answered(sequences: readonly number[]): Promise<number> {
  const answers = () => sequences.filter((one) => replies.has(one)).length;
  for (let round = 0; round < 300 && answers() < sequences.length; round++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return answers();
}

/** Sends initiations with a correct first MAC, from keys that the receiver does not know. */
function flood(
  { count, publicKey, to }: { count: number; publicKey: string; to: Endpoint },
): void {
  const peer = { publicKey, presharedKey: null, allowedIps: [], endpoints: [] };
  for (let number = 0; number < count; number++) {
    const stranger = new Tunnel({
      privateKey: system.randomBytes(32),
      surroundings: system,
      send: (datagram) => socket.send(datagram, to),
      onPacket: () => {},
    });
    stranger.setPeers([peer]);
    stranger.tryEndpoints(publicKey, [to]);
    stranger.close();
  }
}

async function run(command: Command): Promise<unknown> {
  switch (command.do) {
    case "setPeers":
      return tunnel.setPeers(command.peers);
    case "ping": {
      const sequences = Array.from(
        { length: command.count },
        () => ping(command.to, command.source),
      );
      return { answered: await answered(sequences) };
    }
    case "startPings": {
      const sequences: number[] = [];
      const timer = setInterval(
        () => sequences.push(ping(command.to)),
        command.everyMs,
      );
      pings = { timer, sequences };
      return;
    }
    case "stopPings":
      clearInterval(pings!.timer);
      return {
        sent: pings!.sequences.length,
        answered: await answered(pings!.sequences),
      };
    case "jump":
      offset += command.milliseconds;
      return;
    case "rebind":
      socket.close();
      socket = await open(0);
      return;
    case "replay":
      for (const { bytes, from } of arrived.slice()) {
        tunnel.receiveDatagram(bytes, { ...from, address: "192.0.2.99" });
      }
      return { count: arrived.length };
    case "tryEndpoints":
      return tunnel.tryEndpoints(command.publicKey, command.endpoints);
    case "flood":
      return flood(command);
    case "state":
      return { port: socket.port, stats: tunnel.stats(), counts };
  }
}

process.stdout.write("{}\n");
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(
    `${JSON.stringify(await run(JSON.parse(line)) ?? {})}\n`,
  );
}
process.exit(0);
