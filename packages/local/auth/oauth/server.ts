import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Context, Hono } from "hono";
import { PROJECT } from "../../project.ts";
import { AuthError } from "../errors.ts";
import { isUuid, type Sessions } from "../sessions.ts";
import { type AuthorizationRequest, Authorizations, leadBack } from "./authorizations.ts";
import { type OAuthClient, OAuthClients } from "./clients.ts";
import { addConsents } from "./consents.ts";
import { addTokens } from "./tokens.ts";

interface OAuthOptions {
  readonly sessions: Sessions;
  readonly publishableKey: string;
}

const SCOPES = ["openid", "profile", "email", "phone", "offline_access"];

/** As Auth's default (`OAUTH_SERVER_DEFAULT_SCOPE`). */
const DEFAULT_SCOPE = "email";

/** The page that a project without one can begin with. */
const CONSENT_PAGE = join(PROJECT, "examples/consent-page/index.html");

/**
 * Auth's OAuth 2.1 server (internal/api/oauthserver), in memory: metadata, dynamic registration,
 * the authorization code with PKCE, refresh tokens, OpenID Connect. A user consents on a page of
 * the project's own site. Here, the site is the stack, which serves the example page.
 */
export function addOAuthServer(app: Hono, { sessions, publishableKey }: OAuthOptions): void {
  const clients = new OAuthClients();
  const authorizations = new Authorizations();

  for (const name of ["oauth-authorization-server", "openid-configuration"]) {
    app.get(`/.well-known/${name}`, (context) => {
      context.header("cache-control", "public, max-age=600");
      return context.json(metadata(issuerOf(context)));
    });
  }
  app.post("/oauth/clients/register", async (context) => {
    const given = await context.req.json().catch(() => {
      throw new AuthError(400, "bad_json", "Invalid JSON body");
    });
    return context.json(clients.register(given), 201);
  });
  app.get("/oauth/authorize", (context) => {
    const asked = context.req.query();
    const client = clientOf(asked, clients);
    const { redirect_uri = "", state = "", nonce = "" } = asked;
    if (!client.redirect_uris.includes(redirect_uri)) {
      // Do not redirect to an address that no client has registered.
      throw new AuthError(400, "validation_failed", "invalid redirect_uri");
    }
    const scopes = scopesOf(asked);
    const request = {
      client_id: client.client_id,
      redirect_uri,
      state,
      scopes,
      nonce,
      ...challengeOf(asked),
    };
    const problem = problemOf(asked, scopes);
    if (problem !== null) {
      const refused = { error: "invalid_request", error_description: problem };
      return context.redirect(leadBack(request, refused).href);
    }
    const id = authorizations.begin(request);
    return context.redirect(`${siteOf(context)}/oauth/consent?authorization_id=${id}`);
  });
  // Not Auth's: the gateway sends the site's one page here.
  app.get("/site/oauth/consent", async (context) => {
    const page = await readFile(CONSENT_PAGE, "utf8");
    context.header("content-security-policy", "frame-ancestors 'none'");
    return context.html(
      page.replace("https://<ref>.supabase.co", siteOf(context))
        .replace("sb_publishable_…", publishableKey),
    );
  });
  addConsents(app, { clients, authorizations, sessions });
  addTokens(app, { clients, authorizations, sessions, issuerOf });
}

/** The origin that the request came to, as the gateway reports it. */
function siteOf({ req }: Context): string {
  return `${req.header("x-forwarded-proto")}://${req.header("x-forwarded-host")}`;
}

function issuerOf(context: Context): string {
  return `${siteOf(context)}/auth/v1`;
}

function metadata(issuer: string): object {
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    registration_endpoint: `${issuer}/oauth/clients/register`,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    userinfo_endpoint: `${issuer}/oauth/userinfo`,
    scopes_supported: SCOPES,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256", "HS256", "ES256"],
    token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post", "none"],
    code_challenge_methods_supported: ["S256", "plain"],
  };
}

/** Throws AuthError: without a known client, there is no address to lead back to. */
function clientOf(asked: Readonly<Record<string, string>>, clients: OAuthClients): OAuthClient {
  const { client_id = "", redirect_uri = "" } = asked;
  if (client_id === "") throw new AuthError(400, "validation_failed", "client_id is required");
  if (redirect_uri === "") {
    throw new AuthError(400, "validation_failed", "redirect_uri is required");
  }
  const unknown = (message: string) => new AuthError(400, "oauth_client_not_found", message);
  if (!isUuid(client_id)) throw unknown("invalid client_id format");
  const client = clients.find(client_id);
  if (client === undefined) throw unknown("invalid client_id");
  return client;
}

function scopesOf({ scope }: Readonly<Record<string, string>>): string[] {
  return (scope || DEFAULT_SCOPE).split(" ").filter(Boolean);
}

function challengeOf(
  asked: Readonly<Record<string, string>>,
): Pick<AuthorizationRequest, "code_challenge" | "code_challenge_method"> {
  const { code_challenge = "", code_challenge_method = "" } = asked;
  return { code_challenge, code_challenge_method: code_challenge_method.toLowerCase() };
}

/** What is wrong with a request, in words for the client; null: nothing. */
function problemOf(
  asked: Readonly<Record<string, string>>,
  scopes: readonly string[],
): string | null {
  const { code_challenge, code_challenge_method } = challengeOf(asked);
  if ((asked["response_type"] || "code") !== "code") return "only response_type=code is supported";
  if (scopes.length === 0) return "scope parameter cannot be empty";
  const unknown = scopes.find((scope) => !SCOPES.includes(scope));
  if (unknown !== undefined) return `unsupported scope: ${unknown}`;
  const resource = resourceProblem(asked["resource"] ?? "");
  if (resource !== null) return resource;
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

/** RFC 8707. Auth checks the form of a resource, and does not limit the token to it. */
function resourceProblem(resource: string): string | null {
  if (resource === "") return null;
  const url = URL.parse(resource);
  if (url === null) return "resource must be an absolute URI";
  if (url.hash !== "") return "resource must not include a fragment component";
  return url.search === "" ? null : "resource must not include a query component";
}
