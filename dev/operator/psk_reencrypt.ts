import {
  decryptPresharedKey,
  encryptionKeyIdOf,
  encryptPresharedKey,
  PskDecryptionError,
} from "../../supabase/functions/_shared/wireguard/psk_encryption.ts";
import {
  type EncryptionKeys,
  parseEncryptionKeys,
} from "../../supabase/functions/_shared/wireguard/encryption_key.ts";
import { runCommand } from "../command/run_command.ts";
import { callAsOperator } from "./operator_call.ts";
import { CommandError } from "../command/command_error.ts";

const BATCH_SIZE = 500;

interface EncryptedPair {
  readonly low_agent: string;
  readonly high_agent: string;
  readonly psk_version: number;
  readonly encrypted_psk: string;
}

/**
 * Encrypts every PSK under the newest of PSK_ENCRYPTION_KEYS, after which the older ones can be dropped. The PSKs stay as
 * they are; one that cannot be opened stays as it is encrypted, and is told of. Can be stopped and run again at any time.
 */
async function reencryptPsks(): Promise<void> {
  const encryptionKeys = readEncryptionKeys();
  const obstacles = new Map<string, string>();
  let total = 0;
  for (;;) {
    // What is reencrypted drops out of the list, and what was replaced meanwhile is encrypted under the functions' newest key.
    const batch = await callAsOperator("list_psks_to_reencrypt", {
      newest_key_id: encryptionKeys[0].id,
      max_entries: BATCH_SIZE + obstacles.size,
    }) as EncryptedPair[];
    const psks = [];
    for (const pair of batch) {
      try {
        psks.push({ ...ofPair(pair), reencrypted_psk: reencrypt(pair, encryptionKeys) });
      } catch (cause) {
        if (!(cause instanceof PskDecryptionError)) throw cause;
        obstacles.set(`${pair.low_agent} and ${pair.high_agent}`, obstacleOf(pair, cause));
      }
    }
    if (psks.length === 0) break;
    const { reencrypted } = await callAsOperator("reencrypt_psks", { psks }) as {
      reencrypted: number;
    };
    total += reencrypted;
  }
  const newest = `key ${encryptionKeys[0].id}, the first of PSK_ENCRYPTION_KEYS`;
  if (obstacles.size === 0) {
    console.log(`${total} PSKs reencrypted; all are encrypted under ${newest}, now.`);
    return;
  }
  for (const [pair, obstacle] of obstacles) console.error(`The PSK of ${pair} ${obstacle}.`);
  throw new CommandError(
    `${total} PSKs reencrypted under ${newest}; ${obstacles.size} were not. Where their key is lost, rotate them; agents that share no active rule need one for that.`,
  );
}

function ofPair({ low_agent, high_agent, encrypted_psk }: EncryptedPair) {
  return { low_agent, high_agent, encrypted_psk };
}

/** Throws PskDecryptionError. */
function reencrypt(pair: EncryptedPair, encryptionKeys: EncryptionKeys): string {
  const owner = {
    lowAgent: pair.low_agent,
    highAgent: pair.high_agent,
    version: pair.psk_version,
  };
  const psk = decryptPresharedKey(pair.encrypted_psk, { owner, encryptionKeys });
  return encryptPresharedKey(psk, { owner, encryptionKeys });
}

function obstacleOf({ encrypted_psk }: EncryptedPair, { reason }: PskDecryptionError): string {
  return reason === "unknown_encryption_key"
    ? `is encrypted under key ${
      encryptionKeyIdOf(encrypted_psk)
    }, which PSK_ENCRYPTION_KEYS does not list`
    : `is damaged (${reason})`;
}

/** Nothing but the environment tells what the functions run with. Throws CommandError. */
function readEncryptionKeys(): EncryptionKeys {
  const secretText = Deno.env.get("PSK_ENCRYPTION_KEYS");
  if (!secretText) {
    throw new CommandError(
      "Set PSK_ENCRYPTION_KEYS to what the functions have: the new key, a comma, the old one.",
    );
  }
  const parsed = parseEncryptionKeys(secretText);
  if (!parsed.ok) throw new CommandError(`PSK_ENCRYPTION_KEYS cannot be used. ${parsed.refusal}`);
  return parsed.value;
}

await runCommand(reencryptPsks);
