/** A test peer without the kernel that finds its own paths. It answers pings. */
import process from "node:process";
import { createInterface } from "node:readline";
import {
  type PathPeer,
  Paths,
  type RelayAnswer,
} from "../../../packages/agent-peer/paths/paths.ts";
import { parseKey } from "../../../packages/agent-peer/wireguard/key.ts";
import { systemSurroundings } from "../../../packages/agent-peer/wireguard/system_surroundings.ts";
import { Tunnel } from "../../../packages/agent-peer/wireguard/tunnel.ts";
import {
  echoReply,
  echoRequest,
  replySequence,
} from "../../../packages/agent-peer/tests/wireguard/packets.ts";
import type { Command, PathState } from "./path_peer_protocol.ts";

const [privateKey = "", inner = ""] = process.argv.slice(2);
const surroundings = systemSurroundings();
const firstAnswers: Record<string, number> = {};
const setAt = new Map<string, number>();
const replies = new Set<number>();
let [sequence, relayRequests] = [0, 0];
let relay: RelayAnswer | null = null;
let opened = null as { readonly paths: Paths; readonly tunnel: Tunnel } | null;
let pings: {
  readonly timer: ReturnType<typeof setInterval>;
  readonly sequences: number[];
} | null = null;

async function open({ relay: first, proxy, ca }: Extract<Command, { do: "open" }>) {
  relay = first;
  const paths = await Paths.open({
    surroundings,
    iceServers: () => {
      relayRequests += 1;
      return Promise.resolve(relay);
    },
    proxy: proxy === null ? null : new URL(proxy),
    ca,
    onChange: () => {},
  });
  const tunnel = new Tunnel({
    privateKey: parseKey(privateKey),
    surroundings,
    send: paths.send,
    mayMove: paths.mayMove,
    onPacket(packet) {
      const reply = echoReply(packet);
      if (reply !== null) tunnel.sendPacket(reply);
      const answered = replySequence(packet);
      if (answered === null) return;
      replies.add(answered);
      const source = packet.subarray(12, 16).join(".");
      firstAnswers[source] ??= surroundings.now() - (setAt.get(source) ?? 0);
    },
  });
  paths.attach(tunnel);
  opened = { paths, tunnel };
  await paths.whenGathered();
}

/** Sets the peers, and pings each new peer until it answers. */
function setPeers(peers: readonly PathPeer[]): void {
  opened!.paths.setPeers(peers);
  for (const { allowedIps } of peers) {
    const destination = allowedIps[0]!.split("/")[0]!;
    if (setAt.has(destination)) continue;
    setAt.set(destination, surroundings.now());
    const timer = setInterval(() => {
      if (firstAnswers[destination] === undefined) ping(destination);
      else clearInterval(timer);
    }, 100);
  }
}

function ping(destination: string): number {
  sequence = (sequence + 1) & 0xffff;
  const size = 32 + sequence % 900;
  opened!.tunnel.sendPacket(echoRequest({ source: inner, destination, sequence, size }));
  return sequence;
}

/** How many of these pings were answered. Returns when all were answered or the time is over. */
async function answered(sequences: readonly number[], withinSeconds: number): Promise<number> {
  const answers = () => sequences.filter((one) => replies.has(one)).length;
  for (let round = 0; round < 100 * withinSeconds && answers() < sequences.length; round++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return answers();
}

function state(): PathState {
  return {
    endpoints: opened?.paths.endpoints() ?? [],
    reports: opened?.paths.reports() ?? [],
    relayRequests,
    pings: pings?.sequences.length ?? 0,
    firstAnswers,
  };
}

async function run(command: Command): Promise<unknown> {
  switch (command.do) {
    case "open":
      await open(command);
      return state();
    case "setRelay":
      relay = command.relay;
      return;
    case "setPeers":
      return setPeers(command.peers);
    case "ping":
      return { answered: await answered([ping(command.to)], 3) };
    case "startPings": {
      const sequences: number[] = [];
      const timer = setInterval(() => sequences.push(ping(command.to)), command.everyMs);
      pings = { timer, sequences };
      return;
    }
    case "stopPings":
      clearInterval(pings!.timer);
      return { sent: pings!.sequences.length, answered: await answered(pings!.sequences, 10) };
    case "state":
      return state();
  }
}

process.stdout.write("{}\n");
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await run(JSON.parse(line)) ?? {})}\n`);
}
opened?.paths.close();
opened?.tunnel.close();
process.exit(0);
