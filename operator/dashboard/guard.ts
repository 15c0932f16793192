import type { MiddlewareHandler } from "hono";
import { isOneOf } from "../../supabase/functions/_shared/secrets.ts";

/**
 * Answers only the page that the person opened by the printed URL. Other pages in the same browser
 * can send requests here too: by this origin, or by a name of their own that they have resolve to
 * loopback. `token` is the first segment of every path.
 */
export function guard(
  { token, port }: { readonly token: string; readonly port: () => number },
): MiddlewareHandler {
  return async (context, next) => {
    const { req } = context;
    const host = req.header("host") ?? "";
    if (![`127.0.0.1:${port()}`, `localhost:${port()}`].includes(host)) {
      return context.text("Open the URL that was printed at the start.", 421);
    }
    // Fetch Metadata: browsers say who asks, and scripts cannot change it.
    if (!["same-origin", "none", undefined].includes(req.header("sec-fetch-site"))) {
      return context.text("Other pages are not answered.", 403);
    }
    const [, segment = ""] = new URL(req.url).pathname.split("/");
    if (!isOneOf(segment, [token])) {
      return context.text("Open the URL that was printed at the start.", 404);
    }
    if (req.method !== "GET") return context.text("Read-only.", 405, { allow: "GET" });
    return await next();
  };
}
