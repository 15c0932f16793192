import type { MiddlewareHandler } from "hono";
import { isOneOf } from "../../../supabase/functions/_shared/identity/secrets.ts";

/**
 * Answers only the page that the person opened with the printed URL. Other pages in the same
 * browser can send requests here too: to this origin, or to a name of their own that resolves to
 * loopback (DNS rebinding). `token` is the first segment of every path. Forms are accepted only at
 * `/act/`, and only from a page of this origin.
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
    // Fetch Metadata: the browser sets this header, and scripts cannot change it.
    const site = req.header("sec-fetch-site");
    if (!["same-origin", "none", undefined].includes(site)) {
      return context.text("Requests from other sites are refused.", 403);
    }
    const [, segment = "", part = ""] = new URL(req.url).pathname.split("/");
    if (!isOneOf(segment, [token])) {
      return context.text("Open the URL that was printed at the start.", 404);
    }
    if (req.method === "POST" && part === "act") {
      // A browser without Fetch Metadata still sends the origin of every form.
      if (req.header("origin") !== `http://${host}` || site === "none") {
        return context.text("Forms from other sites are refused.", 403);
      }
    } else if (req.method !== "GET") {
      return context.text("Read-only.", 405, { allow: part === "act" ? "GET, POST" : "GET" });
    }
    return await next();
  };
}
