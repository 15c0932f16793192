/**
 * The authorizations that OAuth clients request from a user, their codes, and the sessions that
 * they become (internal/models/oauth_authorization.go, oauth_consent.go).
 */
import { createHash, randomBytes } from "node:crypto";
import { AuthError, OAuthError } from "../errors.ts";
import type { Claims, Sessions } from "../sessions.ts";

/** What a client asked /authorize for. */
export interface AuthorizationRequest {
  readonly client_id: string;
  readonly redirect_uri: string;
  readonly state: string;
  readonly scopes: readonly string[];
  readonly nonce: string;
  readonly code_challenge: string;
  /** `s256` or `plain`. */
  readonly code_challenge_method: string;
}

export interface Authorization extends AuthorizationRequest {
  readonly id: string;
  readonly endsAt: number;
  /** The user who opened the consent page first. No other can answer. */
  user: Claims | null;
  isPending: boolean;
}

/** What a client may do for a user: until either the session or the consent ends. */
export interface OAuthSession {
  readonly id: string;
  readonly client_id: string;
  readonly scopes: readonly string[];
  readonly user: Claims;
}

/** As Auth's default (`OAUTH_SERVER_AUTHORIZATION_TTL`). */
const LIFE_MILLISECONDS = 600_000;

export class Authorizations {
  readonly #authorizations = new Map<string, Authorization>();
  readonly #codes = new Map<string, Authorization>();
  readonly #refreshTokens = new Map<string, OAuthSession>();

  /** Registers a request that waits for a user. Returns its id. */
  begin(request: AuthorizationRequest): string {
    const id = secret();
    const endsAt = Date.now() + LIFE_MILLISECONDS;
    this.#authorizations.set(id, { ...request, id, endsAt, user: null, isPending: true });
    return id;
  }

  /** Whether nobody has looked at a request yet. */
  isUnclaimed(id: string): boolean {
    return this.#authorizations.get(id)?.user === null;
  }

  /**
   * The request that waits for this user. With `claim`, a request that nobody has looked at becomes
   * the user's. Throws AuthError.
   */
  waitingFor(id: string, user: Claims, { claim }: { readonly claim: boolean }): Authorization {
    const found = this.#authorizations.get(id);
    const notFound = new AuthError(
      404,
      "oauth_authorization_not_found",
      "authorization not found",
    );
    if (found === undefined || found.endsAt <= Date.now()) throw notFound;
    if (!found.isPending) {
      const end = claim ? "cannot be processed" : "is no longer pending";
      throw new AuthError(400, "validation_failed", `authorization request ${end}`);
    }
    if (found.user === null && claim) found.user = user;
    if (found.user?.sub !== user.sub) throw notFound;
    return found;
  }

  /** Returns the client's URL with a code. */
  approve(authorization: Authorization): URL {
    authorization.isPending = false;
    const code = crypto.randomUUID();
    this.#codes.set(code, authorization);
    return leadBack(authorization, { code });
  }

  deny(authorization: Authorization): URL {
    authorization.isPending = false;
    return leadBack(authorization, {
      error: "access_denied",
      error_description: "User denied the request",
    });
  }

  /** Uses up a code. Throws OAuthError, and the code still works. */
  redeem(
    code: string,
    given: { clientId: string; redirectUri: string | undefined; verifier: string },
  ): Authorization {
    const approved = this.#codes.get(code);
    if (approved === undefined) throw invalidGrant("Invalid authorization code");
    if (approved.endsAt <= Date.now()) throw invalidGrant("Authorization code has expired");
    if (approved.client_id !== given.clientId) {
      throw invalidGrant("Authorization code was not issued for this client");
    }
    if (given.redirectUri && approved.redirect_uri !== given.redirectUri) {
      throw invalidGrant("Invalid redirect_uri");
    }
    const challenge = approved.code_challenge_method === "plain"
      ? given.verifier
      : createHash("sha256").update(given.verifier).digest("base64url");
    if (challenge !== approved.code_challenge) {
      throw invalidGrant("PKCE verification failed: invalid code verifier");
    }
    this.#codes.delete(code);
    return approved;
  }

  /** A token that `refresh` takes once. */
  refreshTokenFor(session: OAuthSession): string {
    const token = secret();
    this.#refreshTokens.set(token, session);
    return token;
  }

  /** Uses up a refresh token (internal/tokens/service.go). Throws AuthError, OAuthError. */
  refresh(token: string, clientId: string, sessions: Sessions): OAuthSession {
    const session = this.#refreshTokens.get(token);
    if (session === undefined || sessions.isEnded(session.id)) {
      const message = "Invalid Refresh Token: Refresh Token Not Found";
      throw new AuthError(400, "refresh_token_not_found", message);
    }
    if (session.client_id !== clientId) {
      throw new OAuthError("invalid_client", "Client does not match the session's OAuth client");
    }
    this.#refreshTokens.delete(token);
    return session;
  }

  /** Ends what a client may do for a user. Returns the ended sessions. */
  endSessions(sub: string, clientId: string): OAuthSession[] {
    const ended: OAuthSession[] = [];
    for (const [token, session] of this.#refreshTokens) {
      if (session.user.sub !== sub || session.client_id !== clientId) continue;
      this.#refreshTokens.delete(token);
      ended.push(session);
    }
    return ended;
  }
}

/** The client's redirect URI, with the outcome of the request. */
export function leadBack(
  { redirect_uri, state }: Pick<AuthorizationRequest, "redirect_uri" | "state">,
  outcome: Readonly<Record<string, string>>,
): URL {
  const url = new URL(redirect_uri);
  for (const [name, value] of Object.entries(outcome)) url.searchParams.set(name, value);
  if (state !== "") url.searchParams.set("state", state);
  return url;
}

function invalidGrant(description: string): OAuthError {
  return new OAuthError("invalid_grant", description);
}

function secret(): string {
  return randomBytes(32).toString("base64url");
}
