import * as z from "zod";
import { ERROR_CODES, type ErrorCode, errorEntry } from "./errors.ts";
import type { Operation } from "./operation.ts";

/** The errors that any operation can answer with, whatever it does. */
const COMMON_ERRORS: readonly ErrorCode[] = [
  "invalid_json",
  "method_not_allowed",
  "body_too_large",
  "invalid_request",
  "internal",
  "upstream_unavailable",
  "misconfigured",
];

const errorEnvelope = z.object({
  error: z.object({
    code: z.enum(ERROR_CODES as [ErrorCode, ...ErrorCode[]]),
    message: z.string(),
    retryable: z.boolean(),
    request_id: z.string(),
    details: z.unknown().optional(),
  }),
});

const health = z.object({ status: z.literal("ok") });

/** The OpenAPI 3.1 document of a function, made from the schemas that validate its requests. */
export function openApiDocument(
  description: {
    readonly name: string;
    readonly title: string;
    readonly operations: readonly (readonly [path: string, operation: Operation])[];
  },
): object {
  const paths: Record<string, object> = {};
  for (const [path, operation] of description.operations) {
    paths[path] = { post: pathItem(operation) };
  }
  paths["/health"] = {
    get: {
      summary: "Whether the database answers.",
      security: [],
      responses: {
        "200": jsonResponse("It does.", health),
        "503": errorResponses(["upstream_unavailable"])["503"],
      },
    },
  };
  return {
    openapi: "3.1.0",
    info: { title: description.title, version: "1" },
    servers: [{ url: `/functions/v1/${description.name}` }],
    security: [{ agentKey: [] }, { secretKey: [] }],
    paths,
    components: {
      securitySchemes: {
        agentKey: { type: "http", scheme: "bearer", description: "An agent key, `ak_…`." },
        secretKey: {
          type: "apiKey",
          in: "header",
          name: "apikey",
          description: "The project's secret key: the operator.",
        },
      },
      schemas: { Error: jsonSchema(errorEnvelope, "output") },
    },
  };
}

function pathItem(operation: Operation): object {
  const open = operation.access === "anyone";
  const errors = [
    ...COMMON_ERRORS,
    ...(open ? [] : ["unauthenticated", "forbidden"] as const),
    ...operation.errors,
  ];
  return {
    summary: operation.summary,
    description: `May be called by: ${operation.access}.`,
    ...(open ? { security: [] } : {}),
    requestBody: {
      required: true,
      content: { "application/json": { schema: jsonSchema(operation.request, "input") } },
    },
    responses: {
      "200": jsonResponse("Done.", operation.response),
      ...(operation.accepted === undefined ? {} : {
        "202": jsonResponse("Not done yet: send the same request again.", operation.accepted),
      }),
      ...errorResponses(errors),
    },
  };
}

function jsonResponse(description: string, schema: z.ZodType): object {
  return {
    description,
    content: { "application/json": { schema: jsonSchema(schema, "output") } },
  };
}

/** One entry a status, whose description names its codes. */
function errorResponses(codes: readonly ErrorCode[]): Record<string, object> {
  const codesByStatus = new Map<number, Set<ErrorCode>>();
  for (const code of codes) {
    const status = errorEntry(code).status;
    codesByStatus.set(status, (codesByStatus.get(status) ?? new Set()).add(code));
  }
  const responses: Record<string, object> = {};
  for (const [status, names] of codesByStatus) {
    responses[status] = {
      description: Array.from(names, (name) => `\`${name}\``).join(", "),
      content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
    };
  }
  return responses;
}

function jsonSchema(schema: z.ZodType, io: "input" | "output"): object {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return rest;
}
