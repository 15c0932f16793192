// Renamed: the formatter would reflow templates tagged `html`, but their lines matter here.
import { html as escaped, raw } from "hono/html";
import { errorResponse } from "../../_shared/request/error_body.ts";
import type { ErrorCode, ServiceError } from "../../_shared/request/errors.ts";
import type { LinkRequest } from "../../_shared/operations/link.ts";
import { STYLE, STYLE_POLICY } from "./style.ts";
import { prefersHtml } from "./visitors.ts";

/** What a person who opened a link is told. */
interface Words {
  readonly title: string;
  readonly advice: string;
}

const ASK_FOR_ANOTHER = "Ask the person who sent it for a new one.";

const WORDS: Partial<Record<ErrorCode, Words>> = {
  grant_not_found: {
    title: "This link does not exist",
    advice: "Part of it may be missing: copy the whole link, and try again.",
  },
  grant_expired: { title: "This link has expired", advice: ASK_FOR_ANOTHER },
  grant_revoked: { title: "This link was withdrawn", advice: ASK_FOR_ANOTHER },
  grant_used_up: {
    title: "This link has been used up",
    advice:
      `It allowed a limited number of downloads, and all of them were used. ${ASK_FOR_ANOTHER}`,
  },
  artifact_expired: {
    title: "This file is no longer available",
    advice: "It expired or was deleted. Ask the person who sent you the link.",
  },
  artifact_lost: {
    title: "This file is damaged",
    advice: "It cannot be downloaded any more. Ask the person who sent you the link.",
  },
  rate_limited: {
    title: "This link was opened too often",
    advice: "Wait a minute, and try again.",
  },
  maintenance: {
    title: "The service is closed for a short time",
    advice: "Nothing is wrong with your link. Try again later.",
  },
};

const NOT_NOW: Words = {
  title: "The file cannot be downloaded right now",
  advice: "Nothing is wrong with your link. Wait a minute, and try again.",
};

/** No script, no picture, no frame, no form. */
const CONTENT_SECURITY_POLICY = `${STYLE_POLICY}; form-action 'none'`;

/**
 * The error of a link: as a page if the request prefers HTML, else as JSON. Hosted functions serve
 * the page as plain text on the default domain, so its source must be readable, too.
 */
export async function linkErrorResponse(
  error: ServiceError,
  { request, requestId }: LinkRequest,
): Promise<Response> {
  const response = errorResponse(error, requestId);
  if (!prefersHtml(request.headers)) return response;
  const { title, advice } = WORDS[error.code] ?? NOT_NOW;
  const page =
    await escaped`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex"><title>${title}</title><style>${
      raw(STYLE)
    }</style><main>

<h1>${title}</h1>

<p>${advice}

<p>If you ask for help, mention: ${error.code}, request ${requestId}.
</main>
`;
  response.headers.set("content-type", "text/html; charset=utf-8");
  response.headers.set("content-security-policy", CONTENT_SECURITY_POLICY);
  response.headers.set("x-content-type-options", "nosniff");
  return new Response(String(page), response);
}
