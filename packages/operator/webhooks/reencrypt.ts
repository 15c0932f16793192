import {
  DecryptionError,
  decryptSecret,
  encryptSecret,
} from "../../../supabase/functions/_shared/identity/encryption/encrypted_secret.ts";
import type { EncryptionKeys } from "../../../supabase/functions/_shared/identity/encryption/encryption_key.ts";
import { callAsOperator } from "../operator_call.ts";

const BATCH_SIZE = 100;

interface EncryptedWebhook {
  readonly webhook_id: string;
  readonly encrypted_secret: string;
  readonly previous_encrypted_secret: string | null;
}

/** Is told of a secret that cannot be decrypted. */
type OnObstacle = (owner: string, encrypted: string, cause: DecryptionError) => void;

/**
 * Encrypts the secrets of all live webhooks under the newest encryption key. Returns of how many.
 * The secrets themselves do not change. Throws CommandError.
 */
export async function reencryptWebhooks(
  encryptionKeys: EncryptionKeys,
  onObstacle: OnObstacle,
): Promise<number> {
  const unreadable = new Set<string>();
  for (let total = 0;;) {
    const batch = await callAsOperator("list_webhook_secrets", {
      newest_key_id: encryptionKeys[0].id,
      max_entries: BATCH_SIZE + unreadable.size,
    }) as readonly EncryptedWebhook[];
    const secrets = batch.flatMap((webhook) => {
      try {
        return [reencrypted(webhook, encryptionKeys)];
      } catch (cause) {
        if (!(cause instanceof DecryptionError)) throw cause;
        unreadable.add(webhook.webhook_id);
        onObstacle(`The secret of ${webhook.webhook_id}`, webhook.encrypted_secret, cause);
        return [];
      }
    });
    if (secrets.length === 0) return total;
    const answer = await callAsOperator("reencrypt_webhook_secrets", { secrets }) as {
      readonly reencrypted: number;
    };
    total += answer.reencrypted;
  }
}

/** Throws DecryptionError if the present secret cannot be decrypted. One before it is given up. */
function reencrypted(webhook: EncryptedWebhook, encryptionKeys: EncryptionKeys) {
  const { webhook_id, encrypted_secret, previous_encrypted_secret } = webhook;
  const one = (encrypted: string) => {
    const bound = { owner: webhook_id, encryptionKeys };
    return encryptSecret(decryptSecret(encrypted, bound), bound);
  };
  return {
    webhook_id,
    encrypted_secret,
    reencrypted_secret: one(encrypted_secret),
    previous_reencrypted_secret: previous_encrypted_secret === null
      ? null
      : orNull(() => one(previous_encrypted_secret)),
  };
}

function orNull(make: () => string): string | null {
  try {
    return make();
  } catch {
    return null;
  }
}
