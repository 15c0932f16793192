/** A public key as a JWK (RFC 7517). */
export type PublicKey = Readonly<Record<string, unknown>>;

/** An enrolment, as list_enrolments returns it. */
export interface Enrolment {
  readonly enrolment_id: string;
  readonly kind: "key" | "trust";
  readonly label: string | null;
  readonly issuer: string | null;
  /** The issuer's public keys, if the operator gave them; null: fetched from the issuer. */
  readonly jwks: { readonly keys: readonly PublicKey[] } | null;
  readonly agent_id: string | null;
  readonly agent_template: string | null;
  readonly agent_prefix?: string | null;
  readonly tags: readonly string[];
  readonly uses_left: number | null;
  readonly max_agents: number;
  readonly max_instances: number;
  /** Bytes; 0: any number; null: the default. Undefined: an older schema. */
  readonly quota_bytes?: number | null;
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
}

/** Why nobody can enrol with it any more; null while agents still can. */
export function endOf(
  { revoked_at, expires_at, uses_left }: Enrolment,
  now: number = Date.now(),
): string | null {
  if (revoked_at !== null) return "revoked";
  if (expires_at !== null && Date.parse(expires_at) <= now) return "expired";
  return uses_left === 0 ? "used up" : null;
}
