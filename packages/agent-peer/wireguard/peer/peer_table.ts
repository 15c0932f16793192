import { formatKey, parseKey } from "../key.ts";
import { AllowedIps } from "../routing/allowed_ips.ts";
import { type Network, parseNetwork } from "../routing/networks.ts";
import type { Endpoint } from "../surroundings.ts";
import type { PeerContext } from "./context.ts";
import type { IndexTable } from "./index_table.ts";
import { Peer } from "./peer.ts";
import type { PeerTimers } from "./timers.ts";

export interface PeerConfiguration {
  readonly publicKey: string;
  readonly presharedKey: string | null;
  /** Networks inside the tunnel: packets to them go to the peer, and it may send from them. */
  readonly allowedIps: readonly string[];
  /** Where the peer may be, the likeliest first. */
  readonly endpoints: readonly Endpoint[];
  readonly persistentKeepaliveSeconds?: number | null;
  /**
   * An IP packet that the peer answers at once, to send as the persistent keepalive. If the peer
   * stops answering, a handshake begins soon. Default: null, an empty keepalive.
   */
  readonly ping?: Uint8Array | null;
}

interface Parsed extends PeerConfiguration {
  readonly publicKeyBytes: Uint8Array;
  readonly presharedKeyBytes: Uint8Array;
  readonly networks: readonly Network[];
}

/**
 * How many timestamps of removed peers are kept. If a peer returns, a replay of an initiation from
 * before its removal must not create a session.
 */
const MOST_REMEMBERED = 10_000;

/** The peers of a tunnel, by public key and by inner address. */
export class PeerTable {
  readonly #peers = new Map<string, Peer>();
  readonly #allowedIps = new AllowedIps<Peer>();
  readonly #timestamps = new Map<string, Uint8Array>();
  readonly #context: PeerContext;
  readonly #indices: IndexTable<Peer>;

  constructor(context: PeerContext, indices: IndexTable<Peer>) {
    this.#context = context;
    this.#indices = indices;
  }

  all(): Peer[] {
    return [...this.#peers.values()];
  }

  find(publicKey: string): Peer | null {
    return this.#peers.get(publicKey) ?? null;
  }

  ownerOf(address: Uint8Array): Peer | null {
    return this.#allowedIps.find(address);
  }

  timers(): PeerTimers[] {
    return this.all().map(({ timers }) => timers);
  }

  replace(configurations: readonly PeerConfiguration[]): void {
    const parsed = configurations.map(parse);
    const names = new Set(parsed.map(({ publicKey }) => publicKey));
    for (const publicKey of this.#peers.keys()) {
      if (!names.has(publicKey)) this.#remove(publicKey);
    }
    this.#allowedIps.clear();
    for (const configuration of parsed) {
      const peer = this.#peers.get(configuration.publicKey) ??
        this.#add(configuration);
      if (peer === null) continue;
      for (const network of configuration.networks) {
        this.#allowedIps.add(network, peer);
      }
      peer.setCandidates(configuration.endpoints);
      peer.handshakes.setPresharedKey(configuration.presharedKeyBytes);
      configuration.presharedKeyBytes.fill(0);
      const { persistentKeepaliveSeconds: seconds, ping = null } = configuration;
      peer.ping = ping;
      peer.timers.setPersistentKeepalive(seconds ? seconds * 1000 : null);
    }
  }

  clear(): void {
    for (const publicKey of this.#peers.keys()) this.#remove(publicKey);
    this.#allowedIps.clear();
  }

  /** Null for a key with which no handshake can succeed: this side's own, or one of low order. */
  #add({ publicKey, publicKeyBytes }: Parsed): Peer | null {
    const { own } = this.#context;
    const sharedSecret = own.agree(publicKeyBytes);
    if (sharedSecret === null || publicKey === formatKey(own.publicKey)) {
      return null;
    }
    const peer: Peer = new Peer(this.#context, {
      pair: { own, peerPublicKey: publicKeyBytes, sharedSecret },
      indices: {
        claim: () => this.#indices.claim(peer),
        assign: (index, session) => this.#indices.assign(index, { owner: peer, session }),
        release: (index) => this.#indices.release(index),
      },
      latestTimestamp: this.#timestamps.get(publicKey) ?? new Uint8Array(12),
    });
    this.#peers.set(publicKey, peer);
    return peer;
  }

  #remove(publicKey: string): void {
    const peer = this.#peers.get(publicKey);
    if (peer === undefined) return;
    this.#peers.delete(publicKey);
    this.#timestamps.delete(publicKey);
    this.#timestamps.set(publicKey, peer.handshakes.latestTimestamp);
    const [oldest] = this.#timestamps.keys();
    if (this.#timestamps.size > MOST_REMEMBERED) {
      this.#timestamps.delete(oldest!);
    }
    peer.destroy();
  }
}

function parse(configuration: PeerConfiguration): Parsed {
  const { publicKey, presharedKey, allowedIps } = configuration;
  return {
    ...configuration,
    publicKeyBytes: parseKey(publicKey),
    presharedKeyBytes: presharedKey === null ? new Uint8Array(32) : parseKey(presharedKey),
    networks: allowedIps.map(parseNetwork),
  };
}
