import { type Context, Hono } from "hono";
import { decode, verify } from "hono/jwt";
import { addOAuthServer } from "./oauth/server.ts";
import { publicKeyOf, type SigningKey } from "./signing_key.ts";

export interface AuthOptions {
  readonly signingKey: SigningKey;
  /** The project's legacy secret. Tokens signed with it (HS256) are users' tokens too. */
  readonly jwtSecret: string;
}

export interface AuthServer {
  readonly port: number;
  stop(): Promise<void>;
}

type Claims = Readonly<Record<string, unknown>>;

/** The version of its API that supabase-js asks for: errors are `{code, message}`. */
const API_VERSION = "2024-01-01";

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Starts a stand-in for Supabase Auth. It serves the public keys and the user of a token: the
 * functions need these to verify users' tokens, and supabase-js when it is given a session. It also
 * answers the requests of OAuth clients. It keeps no users and no sessions: a user is whoever a
 * token names, as long as the token lasts. It is behind the gateway, so paths come without
 * `/auth/v1`.
 */
export function startAuth(options: AuthOptions): AuthServer {
  const app = new Hono();

  // internal/api/jwks.go
  app.get("/.well-known/jwks.json", (context) => {
    context.header("cache-control", "public, max-age=600");
    const key = { ...publicKeyOf(options.signingKey), use: "sig", key_ops: ["verify"] };
    return context.json({ keys: [key] });
  });
  // internal/api/auth.go, requireAuthentication; internal/api/user.go, UserGet
  app.get("/user", async (context) => {
    const token = /^bearer +(\S+)$/i.exec(context.req.header("authorization") ?? "")?.[1];
    if (token === undefined) {
      return refuse(context, 401, {
        code: "no_authorization",
        message: "This endpoint requires a valid Bearer token",
      });
    }
    const claims = await verifiedClaims(token, options);
    if (claims === null) {
      return refuse(context, 403, {
        code: "bad_jwt",
        message: "invalid JWT: unable to parse or verify signature",
      });
    }
    if (!UUID.test(String(claims["sub"]))) {
      const message = claims["sub"]
        ? "invalid claim: sub claim must be a UUID"
        : "invalid claim: missing sub claim";
      return refuse(context, claims["sub"] ? 400 : 403, { code: "bad_jwt", message });
    }
    return context.json(userOf(claims));
  });
  addOAuthServer(app, {
    signingKey: options.signingKey,
    verifiedClaims: (token) => verifiedClaims(token, options),
  });

  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, app.fetch);
  return { port: server.addr.port, stop: () => server.shutdown() };
}

/** Null if none of the project's keys signed the token, or the token has expired. */
async function verifiedClaims(
  token: string,
  { signingKey, jwtSecret }: AuthOptions,
): Promise<Claims | null> {
  try {
    const { alg, kid } = decode(token).header as { alg: string; kid?: string };
    if (alg === "HS256") return await verify(token, jwtSecret, alg);
    if (kid !== signingKey.kid) return null;
    return await verify(token, { ...publicKeyOf(signingKey) }, signingKey.alg);
  } catch {
    return null;
  }
}

/** The user object (internal/models/user.go), with the fields that a token holds. */
function userOf(claims: Claims): object {
  const since = new Date(Number(claims["iat"]) * 1000 || 0).toISOString();
  return {
    id: claims["sub"],
    aud: claims["aud"],
    role: claims["role"],
    email: claims["email"],
    phone: claims["phone"],
    app_metadata: claims["app_metadata"],
    user_metadata: claims["user_metadata"],
    identities: [],
    created_at: since,
    updated_at: since,
    is_anonymous: claims["is_anonymous"] === true,
  };
}

function refuse(
  context: Context,
  status: 400 | 401 | 403,
  error: { readonly code: string; readonly message: string },
): Response {
  context.header("x-supabase-api-version", API_VERSION);
  context.header("x-sb-error-code", error.code);
  return context.json(error, status);
}
