import process from "node:process";
import {
  decryptPresharedKey,
  encryptPresharedKey,
} from "../../supabase/functions/agent-mesh/wireguard/psk_encryption.ts";
import {
  DecryptionError,
  encryptionKeyIdOf,
} from "../../supabase/functions/_shared/identity/encryption/encrypted_secret.ts";
import {
  type EncryptionKeys,
  parseEncryptionKeys,
} from "../../supabase/functions/_shared/identity/encryption/encryption_key.ts";
import type { Output } from "../command/terminal/output.ts";
import { defineOperation, type Operation } from "./command.ts";
import { callFunctionAsOperator } from "./function_call.ts";
import { callAsOperator } from "./operator_call.ts";
import { CommandError } from "../command/command_error.ts";
import { reencryptWebhooks } from "./webhooks/reencrypt.ts";

const BATCH_SIZE = 500;

interface EncryptedPair {
  readonly low_agent: string;
  readonly high_agent: string;
  readonly encrypted_version: number;
  readonly encrypted_psk: string;
}

/**
 * Encrypts every PSK, and the secrets of webhooks, under the newest of PSK_ENCRYPTION_KEYS. The
 * older keys can then be dropped. The secrets themselves do not change. One that cannot be
 * decrypted is left alone and reported. The task can be stopped and run again at any time.
 */
async function reencryptPsks(output: Output): Promise<void> {
  const encryptionKeys = readEncryptionKeys();
  const newest = `key ${encryptionKeys[0].id}, the first of PSK_ENCRYPTION_KEYS`;
  const obstacles = new Map<string, string>();
  let total = 0;
  for (;;) {
    await assertFunctionsEncryptUnder(encryptionKeys[0].id, { reencrypted: total });
    // A PSK drops out of this list when this task reencrypts it, or when the functions replace it
    // by a new one meanwhile.
    const batch = await callAsOperator("list_psks_to_reencrypt", {
      newest_key_id: encryptionKeys[0].id,
      max_entries: BATCH_SIZE + obstacles.size,
    }) as EncryptedPair[];
    const psks = [];
    for (const pair of batch) {
      try {
        psks.push({ ...ofPair(pair), reencrypted_psk: reencrypt(pair, encryptionKeys) });
      } catch (cause) {
        if (!(cause instanceof DecryptionError)) throw cause;
        obstacles.set(
          `The PSK of ${pair.low_agent} and ${pair.high_agent}`,
          obstacleOf(pair.encrypted_psk, cause),
        );
      }
    }
    if (psks.length === 0) break;
    const { reencrypted } = await callAsOperator("reencrypt_psks", { psks }) as {
      reencrypted: number;
    };
    total += reencrypted;
  }
  const webhooks = await reencryptWebhooks(encryptionKeys, (owner, encrypted, cause) => {
    obstacles.set(owner, obstacleOf(encrypted, cause));
  });
  if (obstacles.size === 0) {
    return await output.value(
      { reencrypted: total, webhooks },
      () =>
        `${total} PSKs reencrypted, and the secrets of ${webhooks} webhooks; all are encrypted under ${newest}, now.`,
    );
  }
  for (const [owner, obstacle] of obstacles) console.error(`${owner} ${obstacle}.`);
  throw new CommandError(
    `${total} PSKs reencrypted under ${newest}; ${obstacles.size} were not. If their encryption key is lost, rotate these PSKs; each pair of agents needs an active rule for that. Rotate webhooks with agentops webhook rotate.`,
  );
}

/**
 * Throws CommandError if the newest key of the functions is another one. A function without the new
 * key could not decrypt the PSKs, and /wg_config would be misconfigured. A function with another
 * newest key would go on encrypting under that key, which must then not be dropped.
 */
async function assertFunctionsEncryptUnder(
  keyId: string,
  { reencrypted }: { readonly reencrypted: number },
): Promise<void> {
  const { key_ids } = await callFunctionAsOperator("/agent-mesh/psk/keys") as { key_ids: string[] };
  if (key_ids[0] === keyId) return;
  const done = reencrypted === 0 ? "Nothing was changed" : `${reencrypted} PSKs were reencrypted`;
  throw new CommandError(
    `${done}: the newest encryption key of the functions is ${
      key_ids[0]
    }, not ${keyId}, the first of PSK_ENCRYPTION_KEYS here. ` +
      "First set PSK_ENCRYPTION_KEYS of the functions to the new encryption key, a comma, and the old ones (the local stack reads it when it starts). " +
      "Then run this command with the same list. Remove the old encryption keys only after that.",
  );
}

function ofPair({ low_agent, high_agent, encrypted_psk }: EncryptedPair) {
  return { low_agent, high_agent, encrypted_psk };
}

/** Throws DecryptionError. */
function reencrypt(pair: EncryptedPair, encryptionKeys: EncryptionKeys): string {
  const owner = {
    lowAgent: pair.low_agent,
    highAgent: pair.high_agent,
    version: pair.encrypted_version,
  };
  const psk = decryptPresharedKey(pair.encrypted_psk, { owner, encryptionKeys });
  return encryptPresharedKey(psk, { owner, encryptionKeys });
}

function obstacleOf(encrypted: string, { reason }: DecryptionError): string {
  return reason === "unknown_encryption_key"
    ? `is encrypted under key ${
      encryptionKeyIdOf(encrypted)
    }, which PSK_ENCRYPTION_KEYS does not list`
    : `is damaged (${reason})`;
}

/**
 * Reads the encryption keys from the environment only, so that they are in no shell history. Throws
 * CommandError.
 */
function readEncryptionKeys(): EncryptionKeys {
  const secretText = process.env["PSK_ENCRYPTION_KEYS"];
  if (!secretText) {
    throw new CommandError(
      "Set PSK_ENCRYPTION_KEYS to what the functions have: the new encryption key, a comma, the old one.",
    );
  }
  const parsed = parseEncryptionKeys(secretText);
  if (!parsed.ok) throw new CommandError(`PSK_ENCRYPTION_KEYS cannot be used. ${parsed.refusal}`);
  return parsed.value;
}

export const pskReencrypt: Operation = defineOperation({
  summary: "Encrypt every PSK and webhook secret under the newest of PSK_ENCRYPTION_KEYS.",
  example: "agentops psk reencrypt",
  run: (_, output) => reencryptPsks(output),
});
