import type { CallerArgument } from "../_shared/caller.ts";
import type { CallDatabase } from "../_shared/database.ts";
import { ServiceError } from "../_shared/errors.ts";
import {
  type MeshConfiguration,
  type MeshState,
  parseMeshConfiguration,
  type PeerState,
} from "../_shared/wireguard/mesh_configuration.ts";
import { generatePresharedKey, pairOf, type PresharedKey } from "../_shared/wireguard/psk.ts";
import {
  openPresharedKey,
  parseSealingKeys,
  PskOpeningError,
  type SealingKeys,
  type SealOwner,
  sealPresharedKey,
} from "../_shared/wireguard/psk_sealing.ts";

interface SealedPeerState extends PeerState {
  readonly psk_version: number;
  /** Null until the first configuration of the pair makes a PSK of this version. */
  readonly sealed_psk: string | null;
}

/** What the SQL functions read_wg_config and store_psks return. */
export interface ConfigurationState extends Omit<MeshState, "peers"> {
  readonly config_version: number;
  readonly pubkey: string;
  readonly peers: readonly SealedPeerState[];
}

/** Each round but the first means that a PSK was replaced while one was being stored. */
const MAX_STORING_ROUNDS = 5;

const KEY_COMMAND = 'supabase secrets set PSK_ENCRYPTION_KEYS="$(openssl rand -base64 32)"';

/**
 * One agent's configuration and its version, from one state of the database. Makes the PSKs that are still missing;
 * where two callers make one at once, the database keeps one and both read that.
 * Throws what read_wg_config raises, misconfigured, and upstream_unavailable when PSKs are replaced without end.
 */
export async function readConfiguration(
  callDatabase: CallDatabase,
  { caller, agentId, pskEncryptionKeys }: {
    readonly caller: CallerArgument;
    /** Null: the calling agent. */
    readonly agentId: string | null;
    readonly pskEncryptionKeys: string | null;
  },
): Promise<{ agentId: string; version: number; configuration: MeshConfiguration }> {
  const parameters = { caller, agent_id: agentId };
  let state = await callDatabase<ConfigurationState>("read_wg_config", parameters);
  const sealingKeys = sealingKeysOf(pskEncryptionKeys);

  for (let round = 0; state.peers.some(({ sealed_psk }) => sealed_psk === null); round++) {
    if (round === MAX_STORING_ROUNDS) throw new ServiceError("upstream_unavailable");
    state = await callDatabase<ConfigurationState>("store_psks", {
      ...parameters,
      pubkey: state.pubkey,
      psks: missingPsks(state, sealingKeys),
    });
  }

  return {
    agentId: state.agent_id,
    version: state.config_version,
    configuration: parseMeshConfiguration(
      state,
      (peer) => openPsk(peer, { owner: sealOwnerOf(state, peer), sealingKeys }),
    ),
  };
}

function missingPsks(state: ConfigurationState, sealingKeys: SealingKeys) {
  return state.peers.filter(({ sealed_psk }) => sealed_psk === null).map((peer) => ({
    agent_id: peer.agent_id,
    pubkey: peer.pubkey,
    psk_version: peer.psk_version,
    sealed_psk: sealPresharedKey(generatePresharedKey(), {
      owner: sealOwnerOf(state, peer),
      sealingKeys,
    }),
  }));
}

function sealOwnerOf(state: ConfigurationState, peer: SealedPeerState): SealOwner {
  return { ...pairOf(state.agent_id, peer.agent_id), version: peer.psk_version };
}

function openPsk(
  { sealed_psk }: SealedPeerState,
  { owner, sealingKeys }: { owner: SealOwner; sealingKeys: SealingKeys },
): PresharedKey {
  try {
    return openPresharedKey(sealed_psk ?? "", { owner, sealingKeys });
  } catch (cause) {
    if (!(cause instanceof PskOpeningError) || cause.reason !== "unknown_sealing_key") throw cause;
    throw new ServiceError("misconfigured", {
      cause,
      message:
        "A PSK is sealed under a key that PSK_ENCRYPTION_KEYS does not list any more. Put that key back, behind the newest one, and run `deno task psk:reseal` before you drop it; if it is lost, rotate the pair's PSK.",
    });
  }
}

function sealingKeysOf(pskEncryptionKeys: string | null): SealingKeys {
  if (pskEncryptionKeys === null) {
    throw new ServiceError("misconfigured", {
      message: `PSK_ENCRYPTION_KEYS is not set. Set it once and keep it: ${KEY_COMMAND}.`,
    });
  }
  const parsed = parseSealingKeys(pskEncryptionKeys);
  if (!parsed.ok) {
    throw new ServiceError("misconfigured", {
      message: `PSK_ENCRYPTION_KEYS cannot be used. ${parsed.refusal}`,
    });
  }
  return parsed.value;
}
