import { Webhook } from "standardwebhooks";
import { encodeBase64 } from "../../../supabase/functions/_shared/identity/encryption/base64.ts";
import { decryptSecret } from "../../../supabase/functions/_shared/identity/encryption/encrypted_secret.ts";
import { parseEncryptionKeys } from "../../../supabase/functions/_shared/identity/encryption/encryption_key.ts";
import type { SimulatedDatabase } from "../world/database.ts";

/** PSK_ENCRYPTION_KEYS of a simulated deployment. */
export const ENCRYPTION_KEYS = btoa("k".repeat(32));

/** The secrets of a webhook, decrypted. */
interface Secrets {
  newest: string;
  /** From before the last rotation, and until when it signs, by the database. Null: it does not. */
  previous: { readonly secret: string; readonly until: number } | null;
}

/** One message as it was handed out: which secrets had to sign it, the newest first. */
type Signers = readonly string[];

const encryptionKeys = readKeys();

function readKeys() {
  const parsed = parseEncryptionKeys(ENCRYPTION_KEYS);
  if (!parsed.ok) throw new Error(parsed.refusal);
  return parsed.value;
}

/** By the rotations that succeeded at the database: who signs what, whatever became of answers. */
export class SigningSecrets {
  readonly #webhooks = new Map<string, Secrets>();
  /** The signers of each message's attempts, by its receiver and its id. */
  readonly #handedOut = new Map<string, Signers[]>();

  made(webhookId: string, encrypted: string): void {
    if (this.#webhooks.has(webhookId)) return;
    this.#webhooks.set(webhookId, { newest: decrypted(webhookId, encrypted), previous: null });
  }

  rotated(webhookId: string, encrypted: string, overlap: number, now: number): void {
    const secrets = this.#webhooks.get(webhookId);
    const newest = decrypted(webhookId, encrypted);
    if (secrets === undefined || secrets.newest === newest) return;
    secrets.previous = overlap === 0 ? null : { secret: secrets.newest, until: now + overlap };
    secrets.newest = newest;
  }

  /** A message is leased: what is valid now has to sign it. */
  handOut(webhookId: string, message: string, now: number): void {
    const secrets = this.#webhooks.get(webhookId);
    if (secrets === undefined) return;
    const { newest, previous } = secrets;
    const signers = previous !== null && now < previous.until
      ? [newest, previous.secret]
      : [newest];
    this.#handedOut.set(message, [...this.#handedOut.get(message) ?? [], signers]);
  }

  /** After a restore, what the database has signs. Answers of before tell of other secrets. */
  restore(database: SimulatedDatabase): void {
    this.#webhooks.clear();
    const rows = database.query(
      `select webhook_id as id, encrypted_secret, previous_encrypted_secret as previous,
        1000 * extract(epoch from previous_valid_until) as until
      from agents.webhooks`,
    );
    for (const { id, encrypted_secret, previous, until } of rows) {
      this.#webhooks.set(id!, {
        newest: decrypted(id!, encrypted_secret!),
        previous: previous === null || previous === undefined
          ? null
          : { secret: decrypted(id!, previous), until: Number(until) },
      });
    }
  }

  /** Whether the secret that an answer told is one that signs, or did. */
  isNewest(webhookId: string, secret: string): boolean {
    return this.#webhooks.get(webhookId)?.newest === secret;
  }

  /** Whether a message has the signatures that one of its attempts should have. */
  areRight(message: string, { headers }: Request, body: string): boolean {
    // Whatever the clocks say: `Webhook.verify` refuses what is five minutes old.
    const sentAt = new Date(1000 * Number(headers.get("webhook-timestamp")));
    const id = headers.get("webhook-id")!;
    return (this.#handedOut.get(message) ?? []).some((signers) =>
      headers.get("webhook-signature") ===
        signers.map((secret) => new Webhook(secret).sign(id, sentAt, body)).join(" ")
    );
  }
}

function decrypted(webhookId: string, encrypted: string): string {
  const bytes = decryptSecret(encrypted, { owner: webhookId, encryptionKeys });
  return `whsec_${encodeBase64(bytes)}`;
}
