import type { Context } from "hono";
import { decode, verify } from "hono/jwt";
import { AuthError } from "./errors.ts";
import { publicKeyOf, type SigningKey } from "./signing_key.ts";

/** The claims of an access token that are read here. */
export interface Claims {
  readonly sub: string;
  readonly session_id?: string;
  readonly iat?: number;
  readonly email?: string;
  readonly [claim: string]: unknown;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** All sessions of a user have ended whose tokens are older, but for one. */
interface Cut {
  /** In seconds. */
  readonly before: number;
  readonly kept: string;
}

/**
 * Who a token names, and which sessions have ended. Nothing else is kept: a user is whoever a token
 * names, and a session exists until it is ended here, since tokens are also made by
 * `agentops user token`.
 */
export class Sessions {
  readonly #ended = new Set<string>();
  /** By user: the sessions that began here, or whose token came here. */
  readonly #seen = new Map<string, Set<string>>();
  /** By user. For sessions that were not seen yet. */
  readonly #cuts = new Map<string, Cut[]>();

  constructor(readonly keys: { readonly signingKey: SigningKey; readonly jwtSecret: string }) {}

  /** internal/api/auth.go, requireAuthentication. Throws AuthError. */
  async require({ req }: Context): Promise<Claims> {
    const token = /^bearer +(\S+)$/i.exec(req.header("authorization") ?? "")?.[1];
    if (token === undefined) {
      const message = "This endpoint requires a valid Bearer token";
      throw new AuthError(401, "no_authorization", message);
    }
    const claims = await this.#verified(token);
    if (claims === null) {
      throw badJwt("invalid JWT: unable to parse or verify signature");
    }
    if (!claims.sub) throw badJwt("invalid claim: missing sub claim");
    if (!isUuid(claims.sub)) {
      throw new AuthError(400, "bad_jwt", "invalid claim: sub claim must be a UUID");
    }
    if (claims.session_id && !isUuid(claims.session_id)) {
      throw badJwt("invalid claim: session_id claim must be a UUID");
    }
    if (this.#hasEnded(claims)) {
      const message = "Session from session_id claim in JWT does not exist";
      throw new AuthError(403, "session_not_found", message);
    }
    if (claims.session_id) this.begin(claims.sub, claims.session_id);
    return claims;
  }

  isEnded(sessionId: string): boolean {
    return this.#ended.has(sessionId);
  }

  end(sessionId: string): void {
    this.#ended.add(sessionId);
  }

  begin(sub: string, sessionId: string): void {
    this.#seen.set(sub, (this.#seen.get(sub) ?? new Set()).add(sessionId));
  }

  /** Ends all of a user's sessions, but for `kept`. */
  endAllOf(sub: string, kept = ""): void {
    for (const id of this.#seen.get(sub) ?? []) if (id !== kept) this.#ended.add(id);
    const cut = { before: Math.floor(Date.now() / 1000), kept };
    this.#cuts.set(sub, [...this.#cuts.get(sub) ?? [], cut]);
  }

  #hasEnded({ sub, session_id, iat = 0 }: Claims): boolean {
    if (!session_id) return false;
    return this.#ended.has(session_id) || (this.#cuts.get(sub) ?? [])
      .some(({ before, kept }) => iat < before && session_id !== kept);
  }

  /** Null if none of the project's keys signed the token, or the token has expired. */
  async #verified(token: string): Promise<Claims | null> {
    const { signingKey, jwtSecret } = this.keys;
    try {
      const { alg, kid } = decode(token).header as { alg: string; kid?: string };
      if (alg === "HS256") return await verify(token, jwtSecret, alg) as unknown as Claims;
      if (kid !== signingKey.kid) return null;
      return await verify(
        token,
        { ...publicKeyOf(signingKey) },
        signingKey.alg,
      ) as unknown as Claims;
    } catch {
      return null;
    }
  }
}

function badJwt(message: string): AuthError {
  return new AuthError(403, "bad_jwt", message);
}
