import {
  openPresharedKey,
  PskOpeningError,
  sealingKeyIdOf,
  sealPresharedKey,
} from "../supabase/functions/_shared/wireguard/psk_sealing.ts";
import {
  parseSealingKeys,
  type SealingKeys,
} from "../supabase/functions/_shared/wireguard/sealing_key.ts";
import { callAsOperator, runCommand } from "./operator_call.ts";
import { readOrMakeKeys } from "./project_keys.ts";
import { StartError } from "./start_error.ts";
import { stateDirectory } from "./state_directory.ts";

const BATCH_SIZE = 500;

interface SealedPair {
  readonly low_agent: string;
  readonly high_agent: string;
  readonly psk_version: number;
  readonly sealed_psk: string;
}

/**
 * Seals every PSK under the newest of PSK_ENCRYPTION_KEYS, after which the older ones can be dropped. The PSKs stay as
 * they are. Can be stopped and run again at any time.
 */
async function resealPsks(): Promise<void> {
  const sealingKeys = await readSealingKeys();
  let total = 0;
  for (;;) {
    // What is resealed drops out of the list, and what was replaced meanwhile is sealed under the functions' newest key.
    const batch = await callAsOperator("list_psks_to_reseal", {
      newest_key_id: sealingKeys[0].id,
      max_entries: BATCH_SIZE,
    }) as SealedPair[];
    if (batch.length === 0) break;
    const psks = batch.map((pair) => ({
      low_agent: pair.low_agent,
      high_agent: pair.high_agent,
      sealed_psk: pair.sealed_psk,
      resealed_psk: reseal(pair, sealingKeys),
    }));
    const { resealed } = await callAsOperator("reseal_psks", { psks }) as { resealed: number };
    total += resealed;
  }
  console.log(`${total} PSKs resealed; all are sealed under key ${sealingKeys[0].id} now.`);
}

function reseal(pair: SealedPair, sealingKeys: SealingKeys): string {
  const owner = {
    lowAgent: pair.low_agent,
    highAgent: pair.high_agent,
    version: pair.psk_version,
  };
  try {
    const psk = openPresharedKey(pair.sealed_psk, { owner, sealingKeys });
    return sealPresharedKey(psk, { owner, sealingKeys });
  } catch (cause) {
    if (!(cause instanceof PskOpeningError)) throw cause;
    throw new StartError(
      cause.reason === "unknown_sealing_key"
        ? `PSK_ENCRYPTION_KEYS does not list key ${
          sealingKeyIdOf(pair.sealed_psk)
        }, under which the PSK of ${pair.low_agent} and ${pair.high_agent} is sealed: add it behind the newest, or rotate that PSK.`
        : `The sealed PSK of ${pair.low_agent} and ${pair.high_agent} is damaged (${cause.reason}): rotate it.`,
      { cause },
    );
  }
}

/** From PSK_ENCRYPTION_KEYS, else the local stack's. */
async function readSealingKeys(): Promise<SealingKeys> {
  const parsed = parseSealingKeys(
    Deno.env.get("PSK_ENCRYPTION_KEYS") ??
      (await readOrMakeKeys(stateDirectory())).pskEncryptionKeys,
  );
  if (!parsed.ok) throw new StartError(`PSK_ENCRYPTION_KEYS cannot be used. ${parsed.refusal}`);
  return parsed.value;
}

await runCommand(resealPsks);
