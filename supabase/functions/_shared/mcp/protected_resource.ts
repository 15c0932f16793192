import { forwardedOrigin, publicOrigin } from "../public_origin.ts";
import type { PlatformSettings } from "../settings/platform.ts";

/**
 * Where the metadata is, below a function. Clients compute a path at the origin from the URL of
 * /mcp (RFC 9728, section 3.1), where the platform serves nothing of a function: they learn this
 * one from the 401.
 */
export const METADATA_PATH = "/.well-known/oauth-protected-resource";

/** What a request was sent to. */
interface Asked {
  readonly request: Request;
  /** The function's. */
  readonly name: string;
  readonly settings: PlatformSettings;
}

/**
 * What an OAuth client has to know of /mcp (RFC 9728, section 2): that the project's Auth issues
 * the tokens. Without scopes: a token can do what its user can.
 */
export function protectedResource(asked: Asked): object {
  return {
    resource: functionUrl(asked, "/mcp"),
    authorization_servers: [`${origin(asked)}/auth/v1`],
    bearer_methods_supported: ["header"],
    resource_name: asked.name,
  };
}

/** The `www-authenticate` of a 401 (RFC 9728, section 5.1). */
export function challenge(asked: Asked): string {
  return `Bearer resource_metadata="${functionUrl(asked, METADATA_PATH)}"`;
}

function functionUrl(asked: Asked, path: string): string {
  return `${origin(asked)}/functions/v1/${asked.name}${path}`;
}

/**
 * A client believes metadata about the URL alone that it called (section 3.3): the project may be
 * called at either of its origins. No other that a request claims is repeated.
 */
function origin({ request, settings }: Asked): string {
  const called = forwardedOrigin(request.headers);
  const own = [settings.supabaseUrl, settings.publicSupabaseUrl];
  return called !== null && own.includes(called) ? called : publicOrigin(request, settings);
}
