import type { CallerArgument } from "../_shared/identity/callers/caller.ts";
import type { CallDatabase } from "../_shared/data/database.ts";
import { ServiceError } from "../_shared/request/errors.ts";
import {
  type MeshConfiguration,
  type MeshState,
  parseMeshConfiguration,
  type PeerState,
} from "./wireguard/mesh_configuration.ts";
import { generatePresharedKey, pairOf, type PresharedKey } from "./wireguard/psk.ts";
import {
  decryptPresharedKey,
  encryptPresharedKey,
  type PskOwner,
} from "./wireguard/psk_encryption.ts";
import { DecryptionError } from "../_shared/identity/encryption/encrypted_secret.ts";
import type { EncryptionKeys } from "../_shared/identity/encryption/encryption_key.ts";
import { configVersion } from "../_shared/operations/waiting/config_version.ts";
import { requireEncryptionKeys } from "../_shared/identity/encryption/require_keys.ts";

interface EncryptedPeerState extends PeerState {
  readonly psk_version: number;
  /** The version that is encrypted inside encrypted_psk. */
  readonly encrypted_version: number;
  /** Null until the first configuration of the pair makes a PSK of this version. */
  readonly encrypted_psk: string | null;
  /** Null if it is unknown, and if it was not asked for. */
  readonly observed_endpoint: string | null;
}

/** What the SQL functions read_wg_config and store_psks return. */
export interface ConfigurationState extends Omit<MeshState, "peers"> {
  readonly config_version: number;
  readonly peers: readonly EncryptedPeerState[];
}

/**
 * Storing takes one round, or two if a neighbour replaced its PSK meanwhile. Each further round
 * needs a neighbour that registers just then, and that this agent or the operator let in before it
 * was registered.
 */
const MAX_ROUNDS = 10;

/**
 * Reads one agent's configuration and its version, from one state of the database. Makes missing
 * PSKs: if two callers make the same one at once, the database keeps one and both read it. Throws
 * what read_wg_config raises, misconfigured, and upstream_unavailable if PSKs are still missing
 * after the last round.
 */
export async function readConfiguration(
  callDatabase: CallDatabase,
  { caller, agentId, onlineSeconds, pskEncryptionKeys }: {
    readonly caller: CallerArgument;
    /** Null: the calling agent. */
    readonly agentId: string | null;
    /**
     * For how many seconds a neighbour's observation of another one's endpoint counts. Null: the
     * caller needs neither observations nor outbound rules, which are expensive to read for a hub
     * of many agents.
     */
    readonly onlineSeconds: number | null;
    readonly pskEncryptionKeys: EncryptionKeys | null;
  },
): Promise<{ agentId: string; version: number; configuration: MeshConfiguration }> {
  const parameters = { caller, agent_id: agentId, online_seconds: onlineSeconds };
  let state = await callDatabase<ConfigurationState>("read_wg_config", parameters);
  const encryptionKeys = requireEncryptionKeys(pskEncryptionKeys);

  // The new PSKs, by their encrypted text. Those that the database keeps need not be decrypted.
  const offered = new Map<string, PresharedKey>();
  let candidates = state.peers.filter(isWithoutPsk);
  for (let round = 1; state.peers.some(isWithoutPsk); round++) {
    if (round > MAX_ROUNDS) throw new ServiceError("upstream_unavailable");
    const psks = makePsks(state.agent_id, candidates, { encryptionKeys, offered });
    state = await callDatabase<ConfigurationState>("store_psks", { ...parameters, psks });
    // A PSK was replaced while others were stored. The next round offers one for every peer, so
    // that neighbours cannot cause further rounds one after the other.
    candidates = [...state.peers];
  }

  return {
    agentId: state.agent_id,
    version: configVersion(state.config_version),
    configuration: parseMeshConfiguration(
      state,
      (peer) => {
        const psk = offered.get(peer.encrypted_psk ?? "");
        if (psk !== undefined) return psk;
        const owner = { ...pairOf(state.agent_id, peer.agent_id), version: peer.encrypted_version };
        return openPsk(peer, { owner, encryptionKeys });
      },
    ),
  };
}

/** Makes a PSK for each of `peers`, to be stored if the pair lacks one. Adds it to `offered`. */
function makePsks(
  agentId: string,
  peers: readonly EncryptedPeerState[],
  { encryptionKeys, offered }: {
    readonly encryptionKeys: EncryptionKeys;
    readonly offered: Map<string, PresharedKey>;
  },
) {
  return peers.map(({ agent_id, psk_version }) => {
    const owner = { ...pairOf(agentId, agent_id), version: psk_version };
    const psk = generatePresharedKey();
    const encrypted_psk = encryptPresharedKey(psk, { owner, encryptionKeys });
    offered.set(encrypted_psk, psk);
    return { agent_id, psk_version, encrypted_psk };
  });
}

function isWithoutPsk({ encrypted_psk }: EncryptedPeerState): boolean {
  return encrypted_psk === null;
}

function openPsk(
  { agent_id, encrypted_psk }: EncryptedPeerState,
  { owner, encryptionKeys }: { owner: PskOwner; encryptionKeys: EncryptionKeys },
): PresharedKey {
  try {
    return decryptPresharedKey(encrypted_psk ?? "", { owner, encryptionKeys });
  } catch (cause) {
    if (!(cause instanceof DecryptionError) || cause.reason !== "unknown_encryption_key") {
      throw cause;
    }
    throw new ServiceError("misconfigured", {
      cause,
      message:
        "A PSK is encrypted with an encryption key that is no longer in PSK_ENCRYPTION_KEYS. Add that encryption key again, after the newest one, and run `agentops psk reencrypt` before you remove it. If it is lost, rotate the PSK with this peer.",
      details: { agent_id },
    });
  }
}
