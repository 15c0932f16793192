/** Which client a request to /oauth/token comes from (internal/api/oauthserver/auth.go). */
import { AuthError } from "../errors.ts";
import { isUuid } from "../sessions.ts";
import { type AUTH_METHODS, hashOf, type OAuthClient, type OAuthClients } from "./clients.ts";

export interface Credentials {
  readonly id: string;
  readonly secret: string;
  readonly method: typeof AUTH_METHODS[number];
}

/** Throws AuthError. As in Auth, a header is not percent-decoded, and goes before the body. */
export function credentialsOf(
  authorization: string | undefined,
  body: Readonly<Record<string, string>>,
): Credentials {
  const basic = /^Basic (.*)$/.exec(authorization ?? "")?.[1];
  if (basic !== undefined) {
    const text = decoded(basic);
    const colon = text.indexOf(":");
    if (colon < 0) throw invalid("Invalid client credentials: invalid basic auth format");
    const [id, secret] = [text.slice(0, colon), text.slice(colon + 1)];
    return { id, secret, method: "client_secret_basic" };
  }
  const { client_id: id = "", client_secret: secret = "" } = body;
  if (id === "") throw invalid("Invalid client credentials: client_id is required");
  return { id, secret, method: secret === "" ? "none" : "client_secret_post" };
}

/**
 * internal/api/middleware.go, requireOAuthClientAuth: all refusals have a code of Auth's own, not
 * OAuth's `invalid_client`. Throws AuthError.
 */
export function authenticate(
  { id, secret, method }: Credentials,
  clients: OAuthClients,
): OAuthClient {
  if (!isUuid(id)) throw invalid("Invalid client_id format");
  const client = clients.find(id);
  if (client === undefined) throw invalid("Invalid client credentials");
  const { token_endpoint_auth_method: registered } = client;
  if (method !== registered) {
    throw invalid(
      `invalid authentication method: client is registered for '${registered}' but '${method}' was used`,
    );
  }
  if (client.secretHash === null) return client;
  if (secret === "") throw invalid("confidential clients must provide client_secret");
  if (hashOf(secret) !== client.secretHash) throw invalid("invalid client credentials");
  return client;
}

function decoded(base64: string): string {
  try {
    return atob(base64);
  } catch {
    throw invalid("Invalid client credentials: invalid basic auth encoding");
  }
}

function invalid(message: string): AuthError {
  return new AuthError(400, "invalid_credentials", message);
}
