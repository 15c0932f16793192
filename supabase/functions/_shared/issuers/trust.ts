/** What the operator says of an issuer: an enrolment of kind trust, as the database has it. */
export interface Trust {
  readonly enrolment_id: string;
  /** Exactly as in `iss`. */
  readonly issuer: string;
  /** The one `aud`. */
  readonly audience: string;
  /** The issuer's public keys; null: fetched from it. */
  readonly jwks: KeySet | null;
  /** All must hold. */
  readonly conditions: readonly Condition[];
  /** Of this and `agent_template`, one is null. */
  readonly agent_id: string | null;
  readonly agent_template: string | null;
  readonly max_token_age_seconds: number | null;
}

/** What a claim must be. Has either `equals` or `prefix`. */
export interface Condition {
  readonly claim: string;
  readonly equals?: string | number | boolean | undefined;
  readonly prefix?: string | undefined;
}

/** A public key by RFC 7517; what else it holds is not looked at. */
export interface PublicKey {
  readonly kty?: unknown;
  readonly kid?: unknown;
  readonly use?: unknown;
  readonly alg?: unknown;
  readonly crv?: unknown;
  readonly key_ops?: unknown;
  readonly [member: string]: unknown;
}

/** A JWK Set by RFC 7517. */
export interface KeySet {
  readonly keys: readonly PublicKey[];
}

export type Claims = Readonly<Record<string, unknown>>;

/** Why a token is refused: for the operator's events, never for its sender. */
export type RefusalReason =
  | "malformed"
  | "unknown_issuer"
  | "algorithm"
  | "unknown_key"
  | "key_type"
  | "signature"
  | "issuer_unreachable"
  | "audience"
  | "expired"
  | "not_yet_valid"
  | "issued_in_future"
  | "too_old"
  | "claim_missing"
  | "claim_differs";

/** Never has a claim's value. */
export interface Refusal {
  readonly reason: RefusalReason;
  /** Which claim it is about. */
  readonly claim?: string;
}
