import { forwardedOrigin, publicOrigin } from "../../request/reading/public_origin.ts";
import type { PlatformSettings } from "../../request/settings/platform.ts";

/**
 * The path of the metadata, below a function. RFC 9728, section 3.1, lets clients compute a path at
 * the origin from the URL of /mcp, but the platform serves no function there. So clients learn this
 * path from the 401.
 */
export const METADATA_PATH = "/.well-known/oauth-protected-resource";

/** The request, and the function that it was sent to. */
interface Asked {
  readonly request: Request;
  /** The function's name. */
  readonly name: string;
  readonly settings: PlatformSettings;
}

/**
 * The metadata of /mcp for OAuth clients (RFC 9728, section 2): the project's Auth issues the
 * tokens. It names no scopes, because a token can do everything that its user can.
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
 * A client accepts metadata only about the URL that it called (RFC 9728, section 3.3), and the
 * project may be called at either of its origins. An origin that is neither of these is not
 * repeated, even if a request claims it.
 */
function origin({ request, settings }: Asked): string {
  const called = forwardedOrigin(request.headers);
  const own = [settings.supabaseUrl, settings.publicSupabaseUrl];
  return called !== null && own.includes(called) ? called : publicOrigin(request, settings);
}
