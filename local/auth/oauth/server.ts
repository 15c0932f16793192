import type { Context, Hono } from "hono";
import { html } from "hono/html";
import type { SigningKey } from "../signing_key.ts";
import { DEFAULT_SECONDS, signUserToken, type User } from "../user_token.ts";
import { type AuthorizationRequest, Authorizations, leadBack } from "./authorizations.ts";
import { type OAuthClient, OAuthClients } from "./clients.ts";

interface OAuthOptions {
  readonly signingKey: SigningKey;
  /** Null if the token is not a user's. */
  readonly verifiedClaims: (token: string) => Promise<Readonly<Record<string, unknown>> | null>;
}

/**
 * Auth's OAuth 2.1 server (internal/api/oauthserver), in memory: metadata, dynamic registration,
 * the authorization code with PKCE, refresh tokens. In a real project, the project itself serves
 * the page on which a user consents. Here that page is `/oauth/consent`, where a user signs in by
 * pasting a token from `deno task user:token`.
 */
export function addOAuthServer(app: Hono, options: OAuthOptions): void {
  const clients = new OAuthClients();
  const authorizations = new Authorizations();

  for (const name of ["oauth-authorization-server", "openid-configuration"]) {
    app.get(`/.well-known/${name}`, (context) => {
      context.header("cache-control", "public, max-age=600");
      return context.json(metadata(issuerOf(context)));
    });
  }
  app.post("/oauth/clients/register", async (context) => {
    const client = clients.register(await context.req.json().catch(() => null));
    return client === null
      ? context.json({ code: "validation_failed", message: "invalid client metadata" }, 400)
      : context.json(client, 201);
  });
  app.get("/oauth/authorize", (context) => {
    const { client_id = "", redirect_uri = "", state = "", ...asked } = context.req.query();
    const client = clients.find(client_id);
    if (client === undefined || !client.redirect_uris.includes(redirect_uri)) {
      // Do not redirect to an address that no client has registered.
      const message = client === undefined ? "invalid client_id" : "invalid redirect_uri";
      return context.json({ code: "validation_failed", message }, 400);
    }
    const request = { client_id, redirect_uri, state, ...challengeOf(asked) };
    const problem = problemOf(asked);
    if (problem !== null) {
      const refused = { error: "invalid_request", error_description: problem };
      return context.redirect(leadBack(request, refused).href);
    }
    const id = authorizations.begin(request);
    return context.redirect(`${issuerOf(context)}/oauth/consent?authorization_id=${id}`);
  });
  app.get("/oauth/consent", (context) => {
    const id = context.req.query("authorization_id") ?? "";
    const request = authorizations.pending(id);
    if (request === undefined) return context.text("This request has ended.", 404);
    return context.html(consentPage(id, request, clients.find(request.client_id)!));
  });
  app.post("/oauth/consent", async (context) => {
    const { authorization_id = "", token = "", action = "" } = await fieldsOf(context);
    const request = authorizations.pending(authorization_id);
    if (request === undefined) return context.text("This request has ended.", 404);
    const claims = await options.verifiedClaims(token);
    const agentId = Object(claims?.["app_metadata"])["agent_id"];
    if (claims === null || typeof agentId !== "string") {
      return context.text("This is no token of `deno task user:token`.", 403);
    }
    const user = { sub: String(claims["sub"]), agentId, clientId: request.client_id };
    const url = action === "approve"
      ? authorizations.approve(authorization_id, user)
      : authorizations.deny(authorization_id);
    return context.redirect(url!.href, 303);
  });
  app.post("/oauth/token", async (context) => {
    const form = await fieldsOf(context);
    const client = clients.authenticate(context.req.header("authorization"), form);
    if (client === undefined) return context.json({ error: "invalid_client" }, 401);
    const user = userOf(form, client, authorizations);
    if (user === null) return context.json({ error: "invalid_grant" }, 400);
    const url = issuerOf(context).slice(0, -"/auth/v1".length);
    return context.json({
      access_token: await signUserToken(options.signingKey, user, { url }),
      token_type: "bearer",
      expires_in: DEFAULT_SECONDS,
      refresh_token: authorizations.refreshTokenFor(user),
    });
  });
}

function userOf(
  form: Readonly<Record<string, string>>,
  { client_id }: OAuthClient,
  authorizations: Authorizations,
): User | null {
  if (form["grant_type"] === "refresh_token") {
    return authorizations.refresh(form["refresh_token"] ?? "", client_id);
  }
  return authorizations.redeem(form["code"] ?? "", {
    clientId: client_id,
    redirectUri: form["redirect_uri"],
    verifier: form["code_verifier"] ?? "",
  });
}

/** `/auth/v1` at the origin that the request came to, as the gateway reports it. */
function issuerOf({ req }: Context): string {
  return `${req.header("x-forwarded-proto")}://${req.header("x-forwarded-host")}/auth/v1`;
}

function metadata(issuer: string): object {
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    registration_endpoint: `${issuer}/oauth/clients/register`,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    scopes_supported: ["openid", "profile", "email", "phone"],
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256", "HS256", "ES256"],
    token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post", "none"],
    code_challenge_methods_supported: ["S256", "plain"],
  };
}

function challengeOf(
  asked: Readonly<Record<string, string>>,
): Pick<AuthorizationRequest, "code_challenge" | "code_challenge_method"> {
  const { code_challenge = "", code_challenge_method = "" } = asked;
  return { code_challenge, code_challenge_method: code_challenge_method.toLowerCase() };
}

/** What is wrong with a request, in words for the client; null: nothing. */
function problemOf(asked: Readonly<Record<string, string>>): string | null {
  const { code_challenge, code_challenge_method } = challengeOf(asked);
  if ((asked["response_type"] ?? "code") !== "code") return "only response_type=code is supported";
  if (code_challenge === "" || code_challenge_method === "") {
    return "PKCE flow requires both code_challenge and code_challenge_method";
  }
  if (!["s256", "plain"].includes(code_challenge_method)) {
    return "code_challenge_method must be 'S256' or 'plain'";
  }
  return code_challenge.length < 43 || code_challenge.length > 128
    ? "code_challenge must be between 43 and 128 characters"
    : null;
}

async function fieldsOf({ req }: Context): Promise<Record<string, string>> {
  return Object.fromEntries(new URLSearchParams(await req.text()));
}

function consentPage(id: string, { redirect_uri }: AuthorizationRequest, client: OAuthClient) {
  return html`
    <!doctype html>
    <html lang="en">
      <title>Let ${client.client_name} act for you?</title>
      <h1>Let ${client.client_name} act for you?</h1>
      <p>It can then do everything that your agent may do. Afterwards, this page sends you to ${redirect_uri}.</p>
      <form method="post">
        <input type="hidden" name="authorization_id" value="${id}" />
        <p><label>Your token, from <code>deno task user:token</code>: <input name="token" /></label></p>
        <button name="action" value="approve">Allow</button>
        <button name="action" value="deny">Refuse</button>
      </form>
    </html>
  `;
}
