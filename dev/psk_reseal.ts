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
import { StartError } from "./start_error.ts";

const BATCH_SIZE = 500;

interface SealedPair {
  readonly low_agent: string;
  readonly high_agent: string;
  readonly psk_version: number;
  readonly sealed_psk: string;
}

/**
 * Seals every PSK under the newest of PSK_ENCRYPTION_KEYS, after which the older ones can be dropped. The PSKs stay as
 * they are; one that cannot be opened stays as it is sealed, and is told of. Can be stopped and run again at any time.
 */
async function resealPsks(): Promise<void> {
  const sealingKeys = readSealingKeys();
  const obstacles = new Map<string, string>();
  let total = 0;
  for (;;) {
    // What is resealed drops out of the list, and what was replaced meanwhile is sealed under the functions' newest key.
    const batch = await callAsOperator("list_psks_to_reseal", {
      newest_key_id: sealingKeys[0].id,
      max_entries: BATCH_SIZE + obstacles.size,
    }) as SealedPair[];
    const psks = [];
    for (const pair of batch) {
      try {
        psks.push({ ...ofPair(pair), resealed_psk: reseal(pair, sealingKeys) });
      } catch (cause) {
        if (!(cause instanceof PskOpeningError)) throw cause;
        obstacles.set(`${pair.low_agent} and ${pair.high_agent}`, obstacleOf(pair, cause));
      }
    }
    if (psks.length === 0) break;
    const { resealed } = await callAsOperator("reseal_psks", { psks }) as { resealed: number };
    total += resealed;
  }
  const newest = `key ${sealingKeys[0].id}, the first of PSK_ENCRYPTION_KEYS`;
  if (obstacles.size === 0) {
    console.log(`${total} PSKs resealed; all are sealed under ${newest}, now.`);
    return;
  }
  for (const [pair, obstacle] of obstacles) console.error(`The PSK of ${pair} ${obstacle}.`);
  throw new StartError(
    `${total} PSKs resealed under ${newest}; ${obstacles.size} were not. Where their key is lost, rotate them; agents that share no active rule need one for that.`,
  );
}

function ofPair({ low_agent, high_agent, sealed_psk }: SealedPair) {
  return { low_agent, high_agent, sealed_psk };
}

/** Throws PskOpeningError. */
function reseal(pair: SealedPair, sealingKeys: SealingKeys): string {
  const owner = {
    lowAgent: pair.low_agent,
    highAgent: pair.high_agent,
    version: pair.psk_version,
  };
  const psk = openPresharedKey(pair.sealed_psk, { owner, sealingKeys });
  return sealPresharedKey(psk, { owner, sealingKeys });
}

function obstacleOf({ sealed_psk }: SealedPair, { reason }: PskOpeningError): string {
  return reason === "unknown_sealing_key"
    ? `is sealed under key ${sealingKeyIdOf(sealed_psk)}, which PSK_ENCRYPTION_KEYS does not list`
    : `is damaged (${reason})`;
}

/** Nothing but the environment tells what the functions run with. Throws StartError. */
function readSealingKeys(): SealingKeys {
  const secretText = Deno.env.get("PSK_ENCRYPTION_KEYS");
  if (!secretText) {
    throw new StartError(
      "Set PSK_ENCRYPTION_KEYS to what the functions have: the new key, a comma, the old one.",
    );
  }
  const parsed = parseSealingKeys(secretText);
  if (!parsed.ok) throw new StartError(`PSK_ENCRYPTION_KEYS cannot be used. ${parsed.refusal}`);
  return parsed.value;
}

await runCommand(resealPsks);
