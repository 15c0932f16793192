/** A signed-in user of the project who is an agent. The user's token was verified. */
export interface UserCaller {
  readonly kind: "user";
  readonly agentId: string;
  /** A UUID: the token's `sub`. */
  readonly userId: string;
  /** When the token expires, in ISO 8601. */
  readonly expiresAt: string;
}
