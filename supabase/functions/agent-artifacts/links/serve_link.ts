import { callerArgument } from "../../_shared/request/caller.ts";
import type { RateLimits } from "../../_shared/request/rate_limits.ts";
import { requestPath } from "../../_shared/pipeline.ts";
import type { Link, LinkRequest } from "../../_shared/operations/link.ts";

export { linkErrorResponse } from "./error_page.ts";

/** Answers GET or HEAD of a link. Throws rate_limited, and what the link throws. */
export async function serveLink(
  link: Link,
  { request, requestId, rateLimits }: LinkRequest & { readonly rateLimits: RateLimits },
): Promise<Response> {
  const path = requestPath(request);
  // As it was sent: nobody is to have two spellings of one link.
  const token = link.token.parse(path.slice(path.lastIndexOf("/") + 1));
  const slot = rateLimits.enterAs(link.limitedBy(token));
  try {
    const headers = new Headers();
    if (request.method === "HEAD") {
      // Without a location: whoever follows that has the access.
      await link.check(token);
    } else {
      const caller = callerArgument(null, requestId);
      headers.set("location", await link.follow({ token, caller, request }));
    }
    return new Response(null, { status: 302, headers });
  } finally {
    slot.leave();
  }
}
