import { sign } from "hono/jwt";
import type { SigningKey } from "./signing_key.ts";

/** The lifetime of tokens in a new Supabase project. */
export const DEFAULT_SECONDS = 3600;

export interface User {
  /** A UUID. */
  readonly sub: string;
  readonly agentId: string;
  /** The OAuth client that acts for the user. Left out: the user's own session. */
  readonly clientId?: string;
  /** A UUID. Left out: a new session. */
  readonly sessionId?: string;
}

/**
 * The access token of a signed-in user, with the claims that Supabase Auth writes (its
 * internal/tokens/service.go, AccessTokenClaims). `url` is the project's.
 */
export function signUserToken(
  key: SigningKey,
  { sub, agentId, clientId, sessionId = crypto.randomUUID() }: User,
  { url, seconds = DEFAULT_SECONDS }: { readonly url: string; readonly seconds?: number },
): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  return sign(
    {
      iss: `${url}/auth/v1`,
      sub,
      aud: "authenticated",
      exp: now + seconds,
      iat: now,
      email: `${sub}@users.local`,
      phone: "",
      app_metadata: { provider: "email", providers: ["email"], agent_id: agentId },
      user_metadata: {},
      role: "authenticated",
      aal: "aal1",
      amr: [{ method: "password", timestamp: now }],
      session_id: sessionId,
      is_anonymous: false,
      ...(clientId !== undefined && { client_id: clientId }),
    },
    { ...key },
    key.alg,
  );
}
