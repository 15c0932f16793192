/** /oauth/token and /oauth/userinfo (internal/api/oauthserver/handlers.go). */
import type { Context, Hono } from "hono";
import { sign } from "hono/jwt";
import { AuthError, OAuthError } from "../errors.ts";
import type { Claims, Sessions } from "../sessions.ts";
import type { SigningKey } from "../signing_key.ts";
import { DEFAULT_SECONDS, signUserToken } from "../user_token.ts";
import type { Authorizations, OAuthSession } from "./authorizations.ts";
import { authenticate, credentialsOf } from "./client_auth.ts";
import type { OAuthClients } from "./clients.ts";
import { claimsOf } from "./consents.ts";

export function addTokens(app: Hono, { clients, authorizations, sessions, issuerOf }: {
  readonly clients: OAuthClients;
  readonly authorizations: Authorizations;
  readonly sessions: Sessions;
  readonly issuerOf: (context: Context) => string;
}): void {
  const { signingKey } = sessions.keys;
  /** By the session's id, for /userinfo. */
  const scopesOf = new Map<string, readonly string[]>();

  app.post("/oauth/token", async (context) => {
    const body = await bodyOf(context);
    const credentials = credentialsOf(context.req.header("authorization"), body);
    const client = authenticate(credentials, clients);
    const { grant_type = "", code = "", refresh_token = "" } = body;
    if (grant_type === "") throw new OAuthError("invalid_request", "grant_type is required");
    if (!(client.grant_types as string[]).includes(grant_type)) {
      const description = `Client is not allowed to use grant type: ${grant_type}`;
      throw new OAuthError("unsupported_grant_type", description);
    }
    const issuer = issuerOf(context);
    if (grant_type === "refresh_token") {
      requireField(refresh_token, "refresh_token is required for refresh_token grant");
      const session = authorizations.refresh(refresh_token, client.client_id, sessions);
      return context.json(await answerFor(session, issuer));
    }
    requireField(code, "code is required for authorization_code grant");
    const { user, scopes, nonce } = authorizations.redeem(code, {
      clientId: client.client_id,
      redirectUri: body["redirect_uri"],
      verifier: body["code_verifier"] ?? "",
    });
    const session: OAuthSession = {
      id: crypto.randomUUID(),
      client_id: client.client_id,
      scopes,
      user: user!,
    };
    sessions.begin(session.user.sub, session.id);
    scopesOf.set(session.id, scopes);
    return context.json({
      ...await answerFor(session, issuer),
      ...(scopes.includes("openid") &&
        { id_token: await idTokenOf(session, { nonce, issuer, signingKey }) }),
    });
  });
  app.get("/oauth/userinfo", async (context) => {
    const claims = await sessions.require(context);
    const scopes = scopesOf.get(claims.session_id ?? "") ?? [];
    const metadata = scopes.includes("profile") ? { user_metadata: claims["user_metadata"] } : {};
    return context.json({
      sub: claims.sub,
      ...claimsOf(claims, scopes, { phone: "phone" }),
      ...metadata,
    });
  });

  async function answerFor(session: OAuthSession, issuer: string): Promise<object> {
    const { sub } = session.user;
    const agentId = String(Object(session.user["app_metadata"])["agent_id"] ?? "");
    const user = { sub, agentId, clientId: session.client_id, sessionId: session.id };
    const url = issuer.slice(0, -"/auth/v1".length);
    return {
      access_token: await signUserToken(signingKey, user, { url }),
      token_type: "bearer",
      expires_in: DEFAULT_SECONDS,
      refresh_token: authorizations.refreshTokenFor(session),
    };
  }
}

/** internal/tokens/service.go, GenerateIDToken. */
function idTokenOf(
  { client_id, scopes, user }: OAuthSession,
  { nonce, issuer, signingKey }: {
    readonly nonce: string;
    readonly issuer: string;
    readonly signingKey: SigningKey;
  },
): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    iss: issuer,
    sub: user.sub,
    aud: [client_id],
    iat: now,
    exp: now + DEFAULT_SECONDS,
    auth_time: user.iat ?? now,
    client_id,
    ...(nonce !== "" && { nonce }),
    ...claimsOf(user as Claims, scopes, { phone: "phone_number" }),
  };
  return sign(claims, { ...signingKey }, signingKey.alg);
}

const FIELDS = [
  "grant_type",
  "code",
  "code_verifier",
  "redirect_uri",
  "refresh_token",
  "client_id",
  "client_secret",
];

/** JSON or form-encoded, as the client says. Other fields do not count. Throws as Auth does. */
async function bodyOf({ req }: Context): Promise<Record<string, string>> {
  const text = await req.text();
  if (!(req.header("content-type") ?? "").includes("application/json")) {
    return Object.fromEntries(new URLSearchParams(text));
  }
  const sent = parsed(text);
  const fields = Object.entries(sent ?? {})
    .filter(([name, value]) => FIELDS.includes(name) && value !== null);
  if (sent !== undefined && fields.every(([, value]) => typeof value === "string")) {
    return Object.fromEntries(fields) as Record<string, string>;
  }
  // Without a header, Auth looks for the client's name and secret in the body first.
  if (req.header("authorization")?.startsWith("Basic ")) {
    throw new OAuthError("invalid_request", "Invalid JSON body");
  }
  const message = "Invalid client credentials: failed to parse JSON body";
  throw new AuthError(400, "invalid_credentials", message);
}

/** Undefined: it is no JSON object. */
function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function requireField(value: string, description: string): void {
  if (value === "") throw new OAuthError("invalid_request", description);
}
