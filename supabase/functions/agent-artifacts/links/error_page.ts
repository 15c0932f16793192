// By another name, because the formatter lays out what is tagged `html`, and here lines matter.
import { html as escaped } from "hono/html";
import { parseAccept } from "hono/utils/accept";
import { type ErrorCode, errorResponse, type ServiceError } from "../../_shared/errors.ts";
import type { LinkRequest } from "../../_shared/operations/link.ts";

/** What is said to a person who opened a link. */
interface Words {
  readonly title: string;
  readonly advice: string;
}

const ASK_FOR_ANOTHER = "Ask whoever gave it to you for another one.";

const WORDS: Partial<Record<ErrorCode, Words>> = {
  grant_not_found: {
    title: "There is no such link",
    advice: "A part of it may be missing: copy the whole link, and open it again.",
  },
  grant_expired: { title: "This link has expired", advice: ASK_FOR_ANOTHER },
  grant_revoked: { title: "This link was withdrawn", advice: ASK_FOR_ANOTHER },
  grant_used_up: {
    title: "This link was used up",
    advice: `It was made for a number of downloads, and they are over. ${ASK_FOR_ANOTHER}`,
  },
  artifact_expired: {
    title: "This file is not there any more",
    advice: "Its time is over, or it was deleted. Ask whoever gave you the link.",
  },
  rate_limited: {
    title: "This link is opened too often",
    advice: "Wait a minute, and open it again.",
  },
};

const NOT_NOW: Words = {
  title: "The file cannot be handed out now",
  advice: "This has nothing to do with your link. Wait a minute, and open it again.",
};

/** No script, no style, no picture, no frame. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * An error of a link as a page, where the request prefers HTML; else as ever. Hosted functions
 * serve the page as plain text on the default domain, so its source has to read well, too.
 */
export async function linkErrorResponse(
  error: ServiceError,
  { request, requestId }: LinkRequest,
): Promise<Response> {
  const response = errorResponse(error, requestId);
  if (!prefersHtml(request.headers)) return response;
  const { title, advice } = WORDS[error.code] ?? NOT_NOW;
  const page =
    await escaped`<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>${title}</title>

<h1>${title}</h1>

<p>${advice}

<p>Whoever you ask for help may want to know: ${error.code}, request ${requestId}.
`;
  response.headers.set("content-type", "text/html; charset=utf-8");
  response.headers.set("content-security-policy", CONTENT_SECURITY_POLICY);
  response.headers.set("x-content-type-options", "nosniff");
  return new Response(String(page), response);
}

/** Whether HTML is more welcome than JSON (RFC 9110, section 12.5.1). */
function prefersHtml(headers: Headers): boolean {
  const ranges = parseAccept((headers.get("accept") ?? "").toLowerCase());
  const quality = (type: string): number => {
    const [kind] = type.split("/");
    // The most specific range that there is decides.
    const matching = [type, `${kind}/*`, "*/*"].map((range) =>
      ranges.find((given) => given.type === range)
    );
    return matching.find((range) => range !== undefined)?.q ?? 0;
  };
  return quality("text/html") > quality("application/json");
}
