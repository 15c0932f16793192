import { encryptionKeyIdOf } from "../../../../../supabase/functions/_shared/identity/encryption/encrypted_secret.ts";
import { MAKE_ENCRYPTION_KEY, runOwn } from "../../findings/remedies.ts";
import { unmade, unmadeByDatabase } from "../unmade.ts";
import { type Facts, keyIdsOf } from "../../facts/facts.ts";
import { wordsOf } from "../../facts/reply.ts";
import { fault, type Finding, note, orOk } from "../../findings/finding.ts";

/** Whether the functions have encryption keys for PSKs, including those of the stored PSKs. */
export function checkPskKeys(facts: Facts): Finding[] {
  const { pskKeys, oldPsks, functions } = facts;
  if (
    functions.some(({ name, health }) => name === "agent-mesh" && health.status !== 200) ||
    pskKeys.status === 401
  ) {
    // Another check reports this fault of the function or of the secret key.
    return [];
  }
  if (pskKeys.status !== 200) {
    return [fault(
      "PSK keys",
      `/wg_config gives no configuration: ${wordsOf(pskKeys)}`,
      "Make an encryption key, unless PSKs were encrypted before: then set the old one. Keep the file where you keep passwords.",
      MAKE_ENCRYPTION_KEY,
    )];
  }
  if (oldPsks !== null && oldPsks.status !== 200) {
    return unmadeByDatabase("PSK keys", oldPsks, facts);
  }
  const known = keyIdsOf(pskKeys);
  if (known.length === 0) return [unmade("PSK keys", pskKeys)];
  const countsByKey = countByKey(oldPsks?.body);
  const findings: Finding[] = [];
  for (const [keyId, count] of countsByKey) {
    if (known.includes(keyId)) {
      findings.push(note(
        "PSK keys",
        `${count} PSKs or more are encrypted with the older encryption key ${keyId}.`,
        "Encrypt them again, then remove that encryption key from PSK_ENCRYPTION_KEYS.",
        runOwn("psk reencrypt"),
      ));
    } else {
      findings.push(fault(
        "PSK keys",
        `${count} PSKs or more are encrypted with the encryption key ${keyId}, which PSK_ENCRYPTION_KEYS does not have: /wg_config fails for their agents.`,
        "Add this encryption key at the end of PSK_ENCRYPTION_KEYS; if it is lost, rotate these PSKs.",
      ));
    }
  }
  return orOk(
    findings,
    "PSK keys",
    `Every PSK is encrypted with the newest encryption key, ${known[0]}.`,
  );
}

/** How many of the PSKs from `list_psks_to_reencrypt` are encrypted under each key. */
function countByKey(psks: unknown): Map<string, number> {
  const counts = new Map<string, number>();
  if (!Array.isArray(psks)) return counts;
  for (const { encrypted_psk } of psks as { readonly encrypted_psk: string }[]) {
    const keyId = encryptionKeyIdOf(encrypted_psk) ?? "unknown";
    counts.set(keyId, (counts.get(keyId) ?? 0) + 1);
  }
  return counts;
}
