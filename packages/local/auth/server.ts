import { Hono } from "hono";
import { AuthError, renderError } from "./errors.ts";
import { addOAuthServer } from "./oauth/server.ts";
import { type Claims, Sessions } from "./sessions.ts";
import { publicKeyOf, type SigningKey } from "./signing_key.ts";

export interface AuthOptions {
  readonly signingKey: SigningKey;
  /** The project's legacy secret. Tokens signed with it (HS256) are users' tokens too. */
  readonly jwtSecret: string;
  /** The key with which the example consent page calls Auth. */
  readonly publishableKey: string;
}

export interface AuthServer {
  readonly port: number;
  stop(): Promise<void>;
}

/**
 * Starts a stand-in for Supabase Auth. It serves the public keys and the user of a token: the
 * functions need these to verify users' tokens, and supabase-js when it is given a session. It also
 * ends sessions, and answers the requests of OAuth clients. It is behind the gateway, so paths come
 * without `/auth/v1`. The files named in comments are those of the real server, v2.19x.
 */
export function startAuth(options: AuthOptions): AuthServer {
  const app = new Hono();
  const sessions = new Sessions(options);
  app.onError(renderError);

  // internal/api/jwks.go
  app.get("/.well-known/jwks.json", (context) => {
    context.header("cache-control", "public, max-age=600");
    const key = { ...publicKeyOf(options.signingKey), use: "sig", key_ops: ["verify"] };
    return context.json({ keys: [key] });
  });
  // internal/api/user.go, UserGet
  app.get("/user", async (context) => context.json(userOf(await sessions.require(context))));
  // internal/api/logout.go
  app.post("/logout", async (context) => {
    const { sub, session_id = "" } = await sessions.require(context);
    const scope = context.req.query("scope") || "global";
    if (!["global", "local", "others"].includes(scope)) {
      throw new AuthError(400, "validation_failed", `Unsupported logout scope "${scope}"`);
    }
    // A token without a session ends all, whatever it asks for.
    if (scope === "local" && session_id !== "") sessions.end(session_id);
    else sessions.endAllOf(sub, scope === "others" ? session_id : "");
    return context.body(null, 204);
  });
  addOAuthServer(app, { ...options, sessions });

  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, app.fetch);
  return { port: server.addr.port, stop: () => server.shutdown() };
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
