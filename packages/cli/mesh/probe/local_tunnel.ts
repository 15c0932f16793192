/** What the tunnel of this host is like, by `wg`, `ping` and a connection. Needs root. */
import { connect as connectTcp } from "node:net";
import type { MeshConfiguration } from "../../../agent-files/contract/types.ts";
import { pause } from "../../../agent-peer/platform.ts";
import { run } from "../up/basics/programs.ts";
import { parseDump, type Running } from "../up/wanted/running.ts";
import type { TunnelFacts } from "./facts.ts";

type ServedPeer = MeshConfiguration["peers"][number];

/** The headers of IPv4 and ICMP, in bytes. */
const HEADERS = 28;
const [SMALL, LARGE] = [56, 1280 - HEADERS];
/** In milliseconds. */
const CONNECTING = 6000;
/**
 * How long to wait for a datagram of a peer that does not answer, in milliseconds. Its host sends
 * one after 15 s of silence.
 */
const LISTENING = 25_000;
/** How many bytes a message has that begins a handshake. */
const INITIATION = 148;

/** Null if this process may not look at the interface, or if it is not there. */
export async function tunnelFacts(
  interfaceName: string,
  { registeredKey, peer, port, proto }: {
    readonly registeredKey: string;
    /** What the service says of the peer. */
    readonly peer: ServedPeer;
    readonly port: number;
    readonly proto: "tcp" | "udp";
  },
): Promise<TunnelFacts | null> {
  const before = await runningOf(interfaceName);
  if (before === null) return null;
  const known = before.peers.get(peer.public_key);
  const own = {
    interfaceName,
    hasRegisteredKey: before.publicKey === registeredKey,
    hasPeer: known !== undefined,
    hasSamePsk: known?.presharedKey === peer.preshared_key,
  };
  if (!own.hasRegisteredKey || !own.hasPeer || !own.hasSamePsk) return { ...own, ...NOT_TRIED };
  const address = peer.allowed_ips[0]!.replace(/\/.*/, "");
  const [smallPing, connected] = await Promise.all([
    isPinged(address, SMALL),
    proto === "tcp" ? connect(address, port) : null,
  ]);
  const isSilent = smallPing === false && connected !== "open" && connected !== "refused";
  const peerNow = async () => (await runningOf(interfaceName))?.peers.get(peer.public_key);
  const age = (handshakeAt = 0) => handshakeAt === 0 ? null : Date.now() / 1000 - handshakeAt;
  let now = await peerNow();
  const bytes = () => (now?.receivedBytes ?? 0) - known!.receivedBytes;
  const until = performance.now() + LISTENING;
  while (isSilent && bytes() <= 0 && performance.now() < until) {
    await pause(500);
    now = await peerNow();
  }
  const handshakeAge = age(now?.handshakeAt);
  return {
    ...own,
    handshakeAgeSeconds: handshakeAge === null ? null : Math.max(0, Math.round(handshakeAge)),
    received: bytes() <= 0 ? "nothing" : bytes() % INITIATION === 0 ? "initiations" : "packets",
    smallPing,
    largePing: smallPing ? await isPinged(address, LARGE) : null,
    connect: connected,
  };
}

const NOT_TRIED = {
  handshakeAgeSeconds: null,
  received: "nothing",
  smallPing: null,
  largePing: null,
  connect: null,
} as const;

async function runningOf(interfaceName: string): Promise<Running | null> {
  const text = await run("wg", ["show", interfaceName, "dump"]).catch(() => null);
  return text === null ? null : parseDump(text);
}

/** Null without the program. Repeated until one is answered: a handshake may come first. */
async function isPinged(address: string, bytes: number): Promise<boolean | null> {
  const args = ["-n", "-q", "-M", "do", "-c", "1", "-w", "8", "-s", String(bytes)];
  try {
    await run("ping", [...args, address]);
    return true;
  } catch (error) {
    return (error as { isUnstarted?: boolean }).isUnstarted ? null : false;
  }
}

function connect(address: string, port: number): Promise<TunnelFacts["connect"]> {
  return new Promise((resolve) => {
    const socket = connectTcp({ host: address, port });
    const done = (result: TunnelFacts["connect"]) => {
      socket.destroy();
      resolve(result);
    };
    socket.setTimeout(CONNECTING, () => done("timeout"));
    socket.on("connect", () => done("open"));
    socket.on(
      "error",
      ({ code }: NodeJS.ErrnoException) => done(code === "ECONNREFUSED" ? "refused" : "timeout"),
    );
  });
}
