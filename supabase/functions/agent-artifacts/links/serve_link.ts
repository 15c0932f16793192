import type { Link, LinkRequest } from "../../_shared/operations/link.ts";
import { requestPath } from "../../_shared/request/pipeline.ts";
import { callerArgument } from "../../_shared/identity/callers/caller.ts";
import type { RateLimits } from "../../_shared/request/limits/rate_limits.ts";
import type { PlatformSettings } from "../../_shared/request/settings/platform.ts";
import { filePage, fileText } from "./file_page.ts";
import { isPreview, prefersHtml } from "./visitors.ts";
import { servesHtml } from "./served_html.ts";

export { linkErrorResponse } from "./error_page.ts";

/** What the answer to a link needs. */
interface Served extends LinkRequest {
  readonly settings: PlatformSettings;
  readonly rateLimits: RateLimits;
}

/** Answers GET, HEAD or POST of a link. Throws rate_limited, and what the link throws. */
export async function serveLink(
  link: Link,
  { request, requestId, settings, rateLimits }: Served,
): Promise<Response> {
  const path = requestPath(request);
  // The path is not decoded, so that one link has only one spelling.
  const token = link.token.parse(path.slice(path.lastIndexOf("/") + 1));
  const slot = rateLimits.enterAs(link.limitedBy(token));
  try {
    const location = async () =>
      await link.follow({ token, caller: callerArgument(null, requestId), request });
    if (request.method === "POST") return redirect(303, await location());
    if (request.method === "HEAD") {
      await link.describe(token);
      // No location, because it gives access to anyone who follows it.
      return redirect(302, null);
    }
    if (prefersHtml(request.headers) && servesHtml(request, settings)) {
      return await filePage(await link.describe(token), request, settings);
    }
    if (isPreview(request.headers)) return fileText(await link.describe(token));
    return redirect(302, await location());
  } finally {
    slot.leave();
  }
}

function redirect(status: 302 | 303, location: string | null): Response {
  return new Response(null, { status, headers: location === null ? {} : { location } });
}
