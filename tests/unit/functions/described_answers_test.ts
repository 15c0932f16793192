import assert from "node:assert/strict";
import { DescribedFunction } from "../../conformance/described_answers.ts";

const ERROR = {
  type: "object",
  properties: { error: { type: "object", required: ["code", "retryable"] } },
  required: ["error"],
};

const FUNCTION = new DescribedFunction({
  paths: {
    "/try": {
      post: {
        responses: {
          "200": {
            headers: { "x-request-id": { $ref: "#/components/headers/RequestId" } },
            content: { "application/json": { schema: { $ref: "#/components/schemas/Done" } } },
          },
          "405": { $ref: "#/components/responses/MethodNotAllowed" },
          "503": { $ref: "#/components/responses/Unavailable" },
        },
      },
    },
  },
  components: {
    headers: {
      RequestId: { required: true, schema: { type: "string", pattern: "^[a-z0-9]+$" } },
      RetryAfter: { schema: { type: "integer" } },
    },
    schemas: {
      Done: {
        type: "object",
        properties: { done: { type: "boolean" } },
        required: ["done"],
        additionalProperties: false,
      },
      ErrorBody: ERROR,
    },
    responses: {
      MethodNotAllowed: {
        content: {
          "application/json": {
            schema: { $ref: "#/components/schemas/ErrorBody" },
            examples: { method_not_allowed: {} },
          },
        },
      },
      Unavailable: {
        headers: { "retry-after": { $ref: "#/components/headers/RetryAfter" } },
        content: {
          "application/json": {
            schema: { $ref: "#/components/schemas/ErrorBody" },
            examples: { upstream_unavailable: {} },
          },
        },
      },
    },
  },
});

interface Received {
  readonly method?: string;
  readonly path?: string;
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

/** Compares an answer with FUNCTION's description. The defaults are a correct answer. */
function check(
  { method = "POST", path = "/try", status = 200, headers, body = { done: true } }: Received,
): void {
  FUNCTION.assertDescribed({ method, path }, {
    status,
    headers: new Headers({
      "content-type": "application/json",
      ...(headers ?? (status === 200 ? { "x-request-id": "r1" } : {})),
    }),
    text: typeof body === "string" ? body : JSON.stringify(body),
  });
}

function error(code: string, retryable: boolean) {
  return { error: { code, retryable } };
}

Deno.test("assertDescribed() of answers that the document has → nothing", () => {
  check({});
  check({ method: "GET", status: 405, body: error("method_not_allowed", false) });
  check({
    status: 503,
    headers: { "retry-after": "2" },
    body: error("upstream_unavailable", true),
  });
  check({ path: "/nothing", status: 404, body: error("not_found", false) });
  check({ path: "/openapi.json", method: "GET" });
});

const REFUSED: Record<string, readonly [received: Received, reason: RegExp]> = {
  "another status": [{ status: 202 }, /no such status/],
  "a missing header": [{ headers: {} }, /has no x-request-id/],
  "a header of another form": [{ headers: { "x-request-id": "A B" } }, /x-request-id/],
  "a header that is not described": [
    { headers: { "x-request-id": "r1", "retry-after": "1" } },
    /headers that the document does not have/,
  ],
  "a retry-after that is no number": [
    {
      status: 503,
      headers: { "retry-after": "soon" },
      body: error("upstream_unavailable", true),
    },
    /retry-after/,
  ],
  "a field too many": [{ body: { done: true, more: 1 } }, /additional properties/],
  "a field too few": [{ body: {} }, /required property 'done'/],
  "another content type": [
    { headers: { "x-request-id": "r1", "content-type": "text/plain" }, body: "done" },
    /no text\/plain/,
  ],
  "another error code": [{ status: 503, body: error("misconfigured", false) }, /no misconfigured/],
  "a retryable error without retry-after": [
    { status: 503, body: error("upstream_unavailable", true) },
    /retry-after/,
  ],
  "a success by another method": [{ method: "GET" }, /no GET/],
  "a success on an unlisted path": [{ path: "/nothing" }, /no such path/],
  "an error on an unlisted path that has no envelope": [
    { path: "/nothing", status: 404, body: { message: "no" } },
    /required property 'error'/,
  ],
};

for (const [what, [received, reason]] of Object.entries(REFUSED)) {
  Deno.test(`assertDescribed() of ${what} → fails and says so`, () => {
    assert.throws(() => check(received), { name: "AssertionError", message: reason });
  });
}
