/**
 * What the project's consent page asks Auth, and what users can withdraw
 * (internal/api/oauthserver/authorize.go, handlers.go).
 */
import type { Context, Hono } from "hono";
import { AuthError } from "../errors.ts";
import { type Claims, isUuid, type Sessions } from "../sessions.ts";
import type { Authorizations } from "./authorizations.ts";
import type { OAuthClient, OAuthClients } from "./clients.ts";

interface Consent {
  readonly client_id: string;
  readonly scopes: readonly string[];
  readonly granted_at: string;
}

export function addConsents(app: Hono, { clients, authorizations, sessions }: {
  readonly clients: OAuthClients;
  readonly authorizations: Authorizations;
  readonly sessions: Sessions;
}): void {
  /** By user and client. */
  const consents = new Map<string, Map<string, Consent>>();
  const consentsOf = (sub: string) => consents.get(sub) ?? new Map<string, Consent>();

  app.get("/oauth/authorizations/:id", async (context) => {
    refuseOtherOrigins(context);
    const user = await sessions.require(context);
    const id = context.req.param("id");
    const isFirstLook = authorizations.isUnclaimed(id);
    const authorization = authorizations.waitingFor(id, user, { claim: true });
    const { client_id, redirect_uri, scopes } = authorization;
    const given = consentsOf(user.sub).get(client_id);
    if (isFirstLook && given && scopes.every((scope) => given.scopes.includes(scope))) {
      return context.json({ redirect_url: authorizations.approve(authorization).href });
    }
    return context.json({
      authorization_id: id,
      redirect_uri,
      client: detailsOf(clients.find(client_id)!),
      user: { id: user.sub, ...(user.email && { email: user.email }) },
      scope: scopes.join(" "),
    });
  });
  app.post("/oauth/authorizations/:id/consent", async (context) => {
    refuseOtherOrigins(context);
    const user = await sessions.require(context);
    const body = await context.req.json().catch(() => {
      throw new AuthError(400, "bad_json", "invalid JSON body");
    });
    const action: unknown = Object(body)["action"];
    if (action !== "approve" && action !== "deny") {
      throw new AuthError(400, "validation_failed", "action must be 'approve' or 'deny'");
    }
    const id = context.req.param("id");
    const authorization = authorizations.waitingFor(id, user, { claim: false });
    if (action === "deny") {
      return context.json({ redirect_url: authorizations.deny(authorization).href });
    }
    const { client_id, scopes } = authorization;
    const granted_at = new Date().toISOString();
    const given = consentsOf(user.sub).set(client_id, { client_id, scopes, granted_at });
    consents.set(user.sub, given);
    return context.json({ redirect_url: authorizations.approve(authorization).href });
  });
  app.get("/user/oauth/grants", async (context) => {
    const { sub } = await sessions.require(context);
    return context.json(
      Array.from(consentsOf(sub).values(), ({ client_id, scopes, granted_at }) => ({
        client: detailsOf(clients.find(client_id)!),
        scopes,
        granted_at,
      })),
    );
  });
  app.delete("/user/oauth/grants", async (context) => {
    const { sub } = await sessions.require(context);
    const clientId = requiredClient(context);
    if (!consentsOf(sub).delete(clientId)) {
      const message = "No active grant found for this client";
      throw new AuthError(404, "oauth_consent_not_found", message);
    }
    for (const { id } of authorizations.endSessions(sub, clientId)) sessions.end(id);
    return context.body(null, 204);
  });
}

/**
 * A request of a browser must come from the site, here the stack itself. Others send no origin.
 * Throws AuthError.
 */
function refuseOtherOrigins({ req }: Context): void {
  const origin = req.header("origin");
  const own = `${req.header("x-forwarded-proto")}://${req.header("x-forwarded-host")}`;
  if (origin !== undefined && origin !== own) {
    throw new AuthError(400, "validation_failed", "unauthorized request origin");
  }
}

function requiredClient({ req }: Context): string {
  const id = req.query("client_id") ?? "";
  if (id === "") {
    throw new AuthError(400, "validation_failed", "client_id query parameter is required");
  }
  if (!isUuid(id)) throw new AuthError(400, "validation_failed", "invalid client_id format");
  return id;
}

function detailsOf({ client_id, client_name, client_uri, logo_uri }: OAuthClient): object {
  return {
    id: client_id,
    ...(client_name !== "" && { name: client_name }),
    ...(client_uri !== "" && { uri: client_uri }),
    ...(logo_uri !== "" && { logo_uri }),
  };
}

/** The claims of a user that the granted scopes reach (OpenID Connect Core, 5.4). */
export function claimsOf(
  { email, phone, user_metadata, iat }: Claims,
  scopes: readonly string[],
  names: { readonly phone: string },
): Record<string, unknown> {
  const told: Record<string, unknown> = {};
  const metadata = Object(user_metadata);
  if (scopes.includes("email") && email) Object.assign(told, { email, email_verified: true });
  if (scopes.includes("profile")) {
    const name = metadata["name"] || email;
    const picture = metadata["picture"] || metadata["avatar_url"];
    const username = metadata["preferred_username"] || metadata["username"];
    if (name) told["name"] = name;
    if (picture) told["picture"] = picture;
    if (username) told["preferred_username"] = username;
    if (iat) told["updated_at"] = iat;
  }
  if (scopes.includes("phone") && phone) {
    Object.assign(told, { [names.phone]: phone, [`${names.phone}_verified`]: true });
  }
  return told;
}
