/** The secrets of webhooks, and what they sign: https://www.standardwebhooks.com */
import nacl from "tweetnacl";
import { Webhook } from "standardwebhooks";
import { encodeBase64 } from "../../_shared/identity/encryption/base64.ts";
import {
  decryptSecret,
  encryptSecret,
} from "../../_shared/identity/encryption/encrypted_secret.ts";
import {
  type EncryptionKeys,
  parseEncryptionKeys,
} from "../../_shared/identity/encryption/encryption_key.ts";
import { requireEncryptionKeys } from "../../_shared/identity/encryption/require_keys.ts";
import { ServiceError } from "../../_shared/request/errors.ts";

/** Reads PSK_ENCRYPTION_KEYS. Throws misconfigured. */
export function readEncryptionKeys(secretText: string | null): EncryptionKeys {
  const parsed = secretText === null ? null : parseEncryptionKeys(secretText);
  if (parsed?.ok === false) {
    throw new ServiceError("misconfigured", {
      message: `PSK_ENCRYPTION_KEYS cannot be used. ${parsed.refusal}`,
    });
  }
  return requireEncryptionKeys(parsed?.value ?? null);
}

/** Makes the secret of a webhook: `whsec_…` for the receiver, and its encrypted form. */
export function makeSigningSecret(
  webhookId: string,
  encryptionKeys: EncryptionKeys,
): { readonly secret: string; readonly encrypted_secret: string } {
  const secretBytes = nacl.randomBytes(32);
  return {
    secret: `whsec_${encodeBase64(secretBytes)}`,
    encrypted_secret: encryptSecret(secretBytes, { owner: webhookId, encryptionKeys }),
  };
}

/** Signs with one secret, or with two while it is rotated. */
export type Sign = (
  message: { readonly id: string; readonly sentAt: Date; readonly body: string },
) => Readonly<Record<string, string>>;

/** Returns a function that makes the headers of a message. Throws DecryptionError. */
export function signerOf(
  { webhookId, encryptedSecrets, encryptionKeys }: {
    readonly webhookId: string;
    readonly encryptedSecrets: readonly string[];
    readonly encryptionKeys: EncryptionKeys;
  },
): Sign {
  const signers = encryptedSecrets.map((encrypted) =>
    new Webhook(encodeBase64(decryptSecret(encrypted, { owner: webhookId, encryptionKeys })))
  );
  return ({ id, sentAt, body }) => ({
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(sentAt.getTime() / 1000)),
    "webhook-signature": signers.map((signer) => signer.sign(id, sentAt, body)).join(" "),
  });
}
