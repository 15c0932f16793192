import type { CallerArgument } from "../_shared/caller.ts";
import type { CallDatabase } from "../_shared/upstream/database.ts";
import { ServiceError } from "../_shared/errors.ts";
import {
  type MeshConfiguration,
  type MeshState,
  parseMeshConfiguration,
  type PeerState,
} from "../_shared/wireguard/mesh_configuration.ts";
import { generatePresharedKey, pairOf, type PresharedKey } from "../_shared/wireguard/psk.ts";
import {
  decryptPresharedKey,
  encryptPresharedKey,
  PskDecryptionError,
  type PskOwner,
} from "../_shared/wireguard/psk_encryption.ts";
import type { EncryptionKeys } from "../_shared/wireguard/encryption_key.ts";
import { configVersion } from "./config_version.ts";
import { requireEncryptionKeys } from "./encryption_keys.ts";

interface EncryptedPeerState extends PeerState {
  readonly psk_version: number;
  /** Null until the first configuration of the pair makes a PSK of this version. */
  readonly encrypted_psk: string | null;
}

/** What the SQL functions read_wg_config and store_psks return. */
export interface ConfigurationState extends Omit<MeshState, "peers"> {
  readonly config_version: number;
  readonly peers: readonly EncryptedPeerState[];
}

/**
 * How many versions of a missing PSK each storing round offers. The database keeps the one that the
 * pair is at. One is enough, unless the other side makes and rotates PSKs in between. It could keep
 * this side waiting by going on so; therefore the next rounds also offer later versions.
 */
const VERSIONS_OFFERED_IN_ROUND = [1, 16, 64, 64];

/**
 * One agent's configuration and its version, from one state of the database. Makes the PSKs that
 * are still missing; where two callers make one at once, the database keeps one and both read it.
 * Throws what read_wg_config raises, misconfigured, and upstream_unavailable when PSKs are still
 * missing after the last round.
 */
export async function readConfiguration(
  callDatabase: CallDatabase,
  { caller, agentId, pskEncryptionKeys }: {
    readonly caller: CallerArgument;
    /** Null: the calling agent. */
    readonly agentId: string | null;
    readonly pskEncryptionKeys: EncryptionKeys | null;
  },
): Promise<{ agentId: string; version: number; configuration: MeshConfiguration }> {
  const parameters = { caller, agent_id: agentId };
  let state = await callDatabase<ConfigurationState>("read_wg_config", parameters);
  const encryptionKeys = requireEncryptionKeys(pskEncryptionKeys);

  // By the text that each was encrypted to. What the database kept need not be decrypted.
  const offered = new Map<string, PresharedKey>();
  for (const versionsOffered of VERSIONS_OFFERED_IN_ROUND) {
    const psks = missingPsks(state, { versionsOffered, encryptionKeys, offered });
    if (psks.length === 0) break;
    state = await callDatabase<ConfigurationState>("store_psks", { ...parameters, psks });
  }
  if (state.peers.some(isWithoutPsk)) throw new ServiceError("upstream_unavailable");

  return {
    agentId: state.agent_id,
    version: configVersion(state.config_version),
    configuration: parseMeshConfiguration(
      state,
      (peer) => {
        const psk = offered.get(peer.encrypted_psk ?? "");
        if (psk !== undefined) return psk;
        const owner = { ...pairOf(state.agent_id, peer.agent_id), version: peer.psk_version };
        return openPsk(peer, { owner, encryptionKeys });
      },
    ),
  };
}

/** The PSKs to store, which are added to `offered`. */
function missingPsks(
  state: ConfigurationState,
  { versionsOffered, encryptionKeys, offered }: {
    readonly versionsOffered: number;
    readonly encryptionKeys: EncryptionKeys;
    readonly offered: Map<string, PresharedKey>;
  },
) {
  return state.peers.filter(isWithoutPsk).flatMap((peer) =>
    Array.from({ length: versionsOffered }, (_, ahead) => {
      const version = peer.psk_version + ahead;
      const owner = { ...pairOf(state.agent_id, peer.agent_id), version };
      const psk = generatePresharedKey();
      const encrypted_psk = encryptPresharedKey(psk, { owner, encryptionKeys });
      offered.set(encrypted_psk, psk);
      return { agent_id: peer.agent_id, psk_version: version, encrypted_psk };
    })
  );
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
    if (!(cause instanceof PskDecryptionError) || cause.reason !== "unknown_encryption_key") {
      throw cause;
    }
    throw new ServiceError("misconfigured", {
      cause,
      message:
        "A PSK is encrypted under a key that PSK_ENCRYPTION_KEYS does not list any more. Put that key back, behind the newest one, and run `deno task psk:reencrypt` before you drop it. If it is lost, rotate the PSK with this peer.",
      details: { agent_id },
    });
  }
}
