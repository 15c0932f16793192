/** The most public keys in a set, given with an enrolment or fetched. */
export const MOST_KEYS = 100;

/** An enrolment of kind trust: which tokens of an issuer the operator accepts. */
export interface Trust {
  readonly enrolment_id: string;
  /** Exactly as in `iss`. */
  readonly issuer: string;
  /** The only `aud` that is accepted. */
  readonly audience: string;
  /** The issuer's public keys; null: fetched from it. */
  readonly jwks: KeySet | null;
  /** All must hold. */
  readonly conditions: readonly Condition[];
  /** Either this or `agent_template` is null. */
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

/** A public key by RFC 7517. The members that are not named here are passed on as they are. */
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
  | "several_keys"
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

/** A refusal never contains the value of a claim. */
export interface Refusal {
  readonly reason: RefusalReason;
  /** The claim that is refused. */
  readonly claim?: string;
  /** What was asked of the issuer, and what came; or which keys it has. */
  readonly detail?: string;
}
