import { ServiceError } from "../../request/errors.ts";
import type { EncryptionKeys } from "./encryption_key.ts";

/** Returns PSK_ENCRYPTION_KEYS. Throws misconfigured if they are not set. */
export function requireEncryptionKeys(encryptionKeys: EncryptionKeys | null): EncryptionKeys {
  if (encryptionKeys !== null) return encryptionKeys;
  throw new ServiceError("misconfigured", {
    message:
      'PSK_ENCRYPTION_KEYS is not set. Make a key: `KEY=$(openssl rand -base64 32)`. Keep it in a safe place. Set it: `supabase secrets set PSK_ENCRYPTION_KEYS="$KEY"`.',
  });
}
