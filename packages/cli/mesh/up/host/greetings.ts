/** Packets and handshakes that this host sends to its peers before any program does. */
import { createSocket } from "node:dgram";
import { pause } from "../../../../agent-peer/platform.ts";
import type { WantedPeer } from "../wanted/accept.ts";
import type { Running } from "../wanted/running.ts";
import type { Tunnel } from "./tunnel.ts";

/** The discard service (RFC 863). */
const DISCARD = 9;

/**
 * Sends a packet to each of these peers. Their firewalls drop it, but WireGuard answers it. Never
 * throws.
 */
export async function askPeers(peers: readonly WantedPeer[]): Promise<void> {
  if (peers.length === 0) return;
  const socket = createSocket("udp4");
  socket.on("error", () => {});
  const sent = peers.map(({ ipv4 }) =>
    new Promise<void>((done) => socket.send("\n", DISCARD, ipv4, () => done()))
  );
  await Promise.race([Promise.all(sent), pause(1000)]);
  socket.close();
}

export interface Greeting {
  readonly peers: () => readonly WantedPeer[];
  /** The public keys of the peers that are not greeted. */
  readonly spared: ReadonlySet<string>;
  /** In milliseconds. A random time is added, so that both sides do not begin at once. */
  readonly after?: number;
}

/**
 * Sends another handshake to the peers that do not answer the first one. It is lost if the other
 * side has not applied the same change yet, and may be lost if both sides begin at the same time.
 * WireGuard retries only after 5 s, unless the peer is removed and added again.
 */
export class Greeter {
  #round = 0;

  constructor(
    private readonly tunnel: Tunnel,
    /** Runs a change of the tunnel when no other one is under way. */
    private readonly exclusively: <Result>(change: () => Promise<Result>) => Promise<Result>,
  ) {}

  stop(): void {
    this.#round++;
  }

  /** Returns at once. */
  greet({ peers, spared, after = 800 }: Greeting): void {
    const round = ++this.#round;
    const greeting = async () => {
      await pause(after + Math.random() * 500);
      await this.exclusively(async () => {
        const running = round === this.#round ? await this.tunnel.running() : null;
        if (running === null) return;
        const silent = silentPeers(running, peers(), spared);
        const endpointOf = ({ publicKey }: WantedPeer) =>
          running.peers.get(publicKey)?.endpoint ?? null;
        if (silent.length > 0) await this.tunnel.addAgain(silent, endpointOf);
      });
    };
    // If a peer is missing afterwards, the next look at the host adds it.
    greeting().catch(() => {});
  }
}

/** The peers that have an endpoint and have never answered. */
function silentPeers(
  running: Running,
  peers: readonly WantedPeer[],
  spared: ReadonlySet<string>,
): WantedPeer[] {
  return peers.filter(({ publicKey }) => {
    const peer = running.peers.get(publicKey);
    return peer?.endpoint != null && peer.handshakeAt === 0 && !spared.has(publicKey);
  });
}
