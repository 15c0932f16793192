/**
 * The authorizations that OAuth clients request from a user
 * (internal/models/oauth_authorization.go).
 */
import { createHash, randomBytes } from "node:crypto";
import type { User } from "../user_token.ts";

/** What a client asked /authorize for. */
export interface AuthorizationRequest {
  readonly client_id: string;
  readonly redirect_uri: string;
  readonly state: string;
  readonly code_challenge: string;
  /** `s256` or `plain`. */
  readonly code_challenge_method: string;
}

interface Authorization extends AuthorizationRequest {
  readonly endsAt: number;
}

interface Approved extends Authorization {
  readonly user: User;
}

/** As Auth's default (`OAUTH_SERVER_AUTHORIZATION_TTL`). */
const LIFE_MILLISECONDS = 600_000;

export class Authorizations {
  readonly #pending = new Map<string, Authorization>();
  readonly #codes = new Map<string, Approved>();
  readonly #refreshTokens = new Map<string, User>();

  /** Registers a request that waits for a user. Returns its id. */
  begin(request: AuthorizationRequest): string {
    const id = secret();
    this.#pending.set(id, { ...request, endsAt: Date.now() + LIFE_MILLISECONDS });
    return id;
  }

  pending(id: string): AuthorizationRequest | undefined {
    return living(this.#pending.get(id));
  }

  /**
   * Approves a waiting request. Returns the client's URL with a code for this user; null if no such
   * request waits.
   */
  approve(id: string, user: User): URL | null {
    const request = this.#take(id);
    if (request === undefined) return null;
    const code = secret();
    this.#codes.set(code, { ...request, user });
    return leadBack(request, { code });
  }

  deny(id: string): URL | null {
    const request = this.#take(id);
    return request === undefined ? null : leadBack(request, {
      error: "access_denied",
      error_description: "User denied the request",
    });
  }

  /**
   * The user for whom a code was made; null if the code was used, has expired, or was made for
   * another client, redirect URI or code challenge.
   */
  redeem(
    code: string,
    given: { clientId: string; redirectUri: string | undefined; verifier: string },
  ): User | null {
    const approved = living(this.#codes.get(code));
    if (approved === undefined || approved.client_id !== given.clientId) return null;
    if (given.redirectUri && approved.redirect_uri !== given.redirectUri) return null;
    const challenge = approved.code_challenge_method === "plain"
      ? given.verifier
      : createHash("sha256").update(given.verifier).digest("base64url");
    if (challenge !== approved.code_challenge) return null;
    this.#codes.delete(code);
    return approved.user;
  }

  /** A token that `refresh` takes once. */
  refreshTokenFor(user: User): string {
    const token = secret();
    this.#refreshTokens.set(token, user);
    return token;
  }

  /**
   * Uses up a refresh token. Returns its user; null if the token is unknown or another client's.
   */
  refresh(token: string, clientId: string): User | null {
    const user = this.#refreshTokens.get(token);
    if (user === undefined || user.clientId !== clientId) return null;
    this.#refreshTokens.delete(token);
    return user;
  }

  #take(id: string): Authorization | undefined {
    const request = living(this.#pending.get(id));
    this.#pending.delete(id);
    return request;
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

function living<Ending extends { readonly endsAt: number }>(
  authorization: Ending | undefined,
): Ending | undefined {
  return authorization !== undefined && authorization.endsAt > Date.now()
    ? authorization
    : undefined;
}

function secret(): string {
  return randomBytes(32).toString("base64url");
}
