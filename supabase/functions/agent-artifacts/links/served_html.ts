import { forwardedOrigin, publicOrigin } from "../../_shared/request/reading/public_origin.ts";
import type { PlatformSettings } from "../../_shared/request/settings/platform.ts";

/** The platform serves a function's HTML as plain text on these domains. */
const DEFAULT_DOMAIN = /\.supabase\.(?:co|com|in|red)$/;

/**
 * Whether a browser that sent this request would show HTML as a page. It would on a custom domain
 * that `PUBLIC_SUPABASE_URL` names, and on a self-hosted stack.
 */
export function servesHtml(request: Request, settings: PlatformSettings): boolean {
  const origins = [publicOrigin(request, settings), forwardedOrigin(request.headers)];
  return origins.every((origin) =>
    origin === null || !DEFAULT_DOMAIN.test(new URL(origin).hostname)
  );
}
