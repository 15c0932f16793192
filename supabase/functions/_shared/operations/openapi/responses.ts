import * as z from "zod";
import { errorBody } from "../../request/error_body.ts";
import { ERROR_CODES, type ErrorCode, errorEntry, ServiceError } from "../../request/errors.ts";
import type { Components } from "./components.ts";

export const HEADERS = {
  RequestId: {
    description: "The request's own `x-request-id` if it is well-formed; otherwise a new one.",
    required: true,
    schema: { type: "string", pattern: "^[A-Za-z0-9._:-]{1,64}$" },
    example: "b3c1d2e4-5f60-4718-92a3-b4c5d6e7f809",
  },
  CacheControl: {
    description: "No answer may be cached.",
    required: true,
    schema: { type: "string", const: "no-store" },
    example: "no-store",
  },
  RetryAfter: {
    description: "How many seconds to wait before you send the same request again.",
    schema: { type: "integer", minimum: 0 },
    example: 2,
  },
  WwwAuthenticate: {
    description: "The authentication scheme.",
    required: true,
    schema: { type: "string", const: "Bearer" },
    example: "Bearer",
  },
  Allow: {
    description: "The methods that the path supports.",
    required: true,
    schema: { type: "string" },
    example: "POST, OPTIONS",
  },
} as const;

/** The headers that every response has. */
const COMMON_HEADERS = {
  "x-request-id": headerReference("RequestId"),
  "cache-control": headerReference("CacheControl"),
};

/** Examples of `details`, for the codes that have them. */
const DETAILS: Partial<Record<ErrorCode, object>> = {
  invalid_request: { issues: [{ path: "agent_id", message: "Must be a string." }] },
  position_expired: { path: "after" },
  limit_exceeded: { limit: "live_grants", maximum: 1000 },
  quota_exceeded: { quota_bytes: 1_073_741_824, held_bytes: 1_073_700_000 },
  rate_limited: { limit: "requests_per_minute", maximum: 30_000 },
  size_mismatch: { expected: 48_213, actual: 48_000 },
  checksum_mismatch: { expected: "b94d27…", actual: "2cf24d…" },
};

const errorEnvelope = z.object({
  error: z.object({
    code: z.enum(ERROR_CODES as [ErrorCode, ...ErrorCode[]])
      .meta({ description: "What went wrong. Codes do not change between releases." }),
    message: z.string().meta({ description: "An explanation for people." }),
    retryable: z.boolean()
      .meta({ description: "Whether the same request, unchanged, can succeed later." }),
    request_id: z.string().meta({
      description: "The answer's `x-request-id`, by which to find the request in the log.",
      pattern: HEADERS.RequestId.schema.pattern,
    }),
    details: z.unknown().optional()
      .meta({ description: "Details for programs. Their form depends on `code`." }),
  }).meta({ description: "The error." }),
}).meta({ id: "ErrorBody" });

export function jsonResponse(description: string, body: z.ZodType, components: Components): object {
  return {
    description,
    headers: COMMON_HEADERS,
    content: { "application/json": components.body(body, "output") },
  };
}

export function textResponse(description: string, text: z.ZodType, components: Components): object {
  return {
    description,
    headers: COMMON_HEADERS,
    content: { "text/plain": components.body(text, "output") },
  };
}

/** A 200 that is JSON, or text if the request asks for text. */
export function textOrJsonResponse(
  description: string,
  { json, text }: { readonly json: z.ZodType; readonly text: z.ZodType },
  components: Components,
): object {
  return {
    description,
    headers: COMMON_HEADERS,
    content: {
      "application/json": components.body(json, "output"),
      "text/plain": components.body(text, "output"),
    },
  };
}

/** The 202 of a request that is to be sent again. */
export function acceptedResponse(body: z.ZodType, components: Components): object {
  return {
    ...jsonResponse("Not done yet. Send the same request again.", body, components),
    headers: { ...COMMON_HEADERS, "retry-after": { ...HEADERS.RetryAfter, required: true } },
  };
}

/** The headers that every response of a link has in addition. */
const LINK_HEADERS = {
  "referrer-policy": {
    description: "The link is not sent to other sites.",
    required: true,
    schema: { type: "string", const: "no-referrer" },
  },
};

/** The answer of a link. */
export function redirectResponse(): object {
  return {
    description: "Redirects to the download.",
    headers: {
      ...COMMON_HEADERS,
      ...LINK_HEADERS,
      location: {
        description: "The download URL, which expires soon. HEAD does not get it.",
        schema: { type: "string", format: "uri" },
      },
    },
  };
}

/** The answer of a link to a browser or a preview. */
export function linkShownResponse(): object {
  return {
    description: "What the link leads to: a page for a browser, text for a preview. It counts " +
      "no download.",
    headers: { ...COMMON_HEADERS, ...LINK_HEADERS },
    content: {
      "text/html": { schema: { type: "string" }, example: "<h1>house.txt</h1>" },
      "text/plain": { schema: { type: "string" }, example: "house.txt, 32 bytes" },
    },
  };
}

/** As errorResponses, for a link: a browser may get an error as a page. */
export function linkErrorResponses(
  codes: readonly ErrorCode[],
  components: Components,
): Record<string, object> {
  const page = { schema: { type: "string" }, example: "<h1>This link has expired</h1>" };
  // The platform serves HTML as plain text if the project has no domain of its own.
  const pages = { "text/html": page, "text/plain": page };
  return Object.fromEntries(
    Array.from(codesByStatus(codes), ([status, names]) => {
      const response = errorResponse(status, names, components);
      return [status, {
        ...response,
        headers: { ...response.headers, ...LINK_HEADERS },
        content: { ...response.content, ...(status !== 405 && pages) },
      }];
    }),
  );
}

/** One response per status. Operations with the same errors share its definition. */
export function errorResponses(
  codes: readonly ErrorCode[],
  components: Components,
): Record<string, object> {
  return Object.fromEntries(Array.from(codesByStatus(codes), ([status, names]) => {
    const name = [...names].map(pascalCase).join("Or");
    const response = errorResponse(status, names, components);
    components.responses[name] ??= response;
    return [status, {
      $ref: `#/components/responses/${name}`,
      description: response.description,
    }];
  }));
}

function codesByStatus(codes: readonly ErrorCode[]): Map<number, Set<ErrorCode>> {
  const grouped = new Map<number, Set<ErrorCode>>();
  for (const code of codes) {
    const { status } = errorEntry(code);
    grouped.set(status, (grouped.get(status) ?? new Set()).add(code));
  }
  return grouped;
}

function errorResponse(
  status: number,
  codes: ReadonlySet<ErrorCode>,
  components: Components,
) {
  return {
    description: [...codes].map((code) => `\`${code}\``).join(", "),
    headers: errorHeaders(status, codes),
    content: {
      "application/json": {
        schema: components.schema(errorEnvelope, "output"),
        // One example per code.
        examples: Object.fromEntries(Array.from(codes, (code) => [code, errorExample(code)])),
      },
    },
  };
}

function errorHeaders(status: number, codes: ReadonlySet<ErrorCode>): object {
  const isRetryable = [...codes].some((code) => errorEntry(code).retryAfterSeconds !== undefined);
  return {
    ...COMMON_HEADERS,
    ...(isRetryable && { "retry-after": headerReference("RetryAfter") }),
    ...(status === 401 && { "www-authenticate": headerReference("WwwAuthenticate") }),
    ...(status === 405 && { allow: headerReference("Allow") }),
  };
}

function errorExample(code: ErrorCode): object {
  const error = new ServiceError(code, { details: DETAILS[code] });
  return { value: errorBody(error, HEADERS.RequestId.example) };
}

function headerReference(name: keyof typeof HEADERS): object {
  return { $ref: `#/components/headers/${name}` };
}

/** `peer_not_found` → `PeerNotFound`. */
function pascalCase(code: ErrorCode): string {
  return code.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());
}
