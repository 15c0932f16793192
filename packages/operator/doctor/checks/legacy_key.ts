import type { Facts } from "../facts/facts.ts";
import { fieldOf, type Reply } from "../facts/reply.ts";
import { type Finding, note, orOk, type Paste } from "../findings/finding.ts";
import { DEPLOY, unsetVariable } from "../findings/remedies.ts";

const DANGER =
  "accepts the legacy service_role key as the operator's. If that key leaks, it cannot be rotated.";

const REMEDIES: Readonly<Record<string, readonly [words: string, paste: Paste]>> = {
  accepted: [
    "Send a secret key in its place everywhere, then unset ACCEPT_LEGACY_KEYS.",
    unsetVariable("ACCEPT_LEGACY_KEYS"),
  ],
  only_key: ["Make a secret key under Settings, API Keys, then deploy again.", DEPLOY],
};

/**
 * Whether the functions accept the service_role key as the operator's. Silent about functions that
 * do not tell.
 */
export function checkLegacyKey({ functions }: Facts): Finding[] {
  const uses = functions.map(({ name, health }) => [name, fieldOf(health, "legacy_key")] as const);
  const findings = uses.flatMap(([name, use]) => {
    const remedy = REMEDIES[String(use)];
    return remedy === undefined ? [] : [note("legacy key", `${name} ${DANGER}`, ...remedy)];
  });
  // Functions that do not accept the operator do not tell.
  if (functions.every(({ health }) => fieldOf(health, "settings") === undefined)) return findings;
  return orOk(findings, "legacy key", "Only secret keys are accepted as the operator's.");
}

/** Whether a function has refused SUPABASE_SECRET_KEY because it is the service_role key. */
export function isRefusedLegacyKey(whoami: Reply): boolean {
  const error = fieldOf(whoami, "error") as { details?: { legacy_key?: unknown } } | undefined;
  return error?.details?.legacy_key === "refused";
}
