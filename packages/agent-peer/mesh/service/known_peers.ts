import type { MeshConfiguration } from "../../service.ts";
import { reasonOf } from "../../paths/describe_path.ts";
import type { PeerState } from "../engine/engine.ts";
import { addressOf } from "../engine/rules.ts";

/** How a peer is reached, with what the configuration says of it. */
export interface KnownPeer extends PeerState {
  readonly agentId: string;
  readonly name: string;
  readonly addresses: readonly string[];
  /** Why there is no path, as far as can be known; null if there is one. */
  readonly reason: string | null;
}

/** The peers of a configuration. `ownEndpoints`: the endpoints that this agent registers. */
export function knownPeers(
  { agent_id, peers, relay }: MeshConfiguration,
  { states, ownEndpoints: endpoints }: {
    readonly states: readonly PeerState[];
    readonly ownEndpoints: readonly string[];
  },
): KnownPeer[] {
  const known = new Map(states.map((state) => [state.publicKey, state]));
  return peers.map((peer) => {
    const state = known.get(peer.public_key) ?? unknown(peer.public_key);
    return {
      ...state,
      agentId: peer.agent_id,
      name: peer.name,
      addresses: peer.allowed_ips.map(addressOf),
      reason: state.via === "none" ? reasonOf([{ agent_id, endpoints }, peer], relay) : null,
    };
  });
}

function unknown(publicKey: string): PeerState {
  return {
    publicKey,
    via: "none",
    endpoint: null,
    handshakeAgeSeconds: null,
    receivedBytes: 0,
    sentBytes: 0,
    use: { connections: 0, heldBytes: 0, refused: 0 },
  };
}
