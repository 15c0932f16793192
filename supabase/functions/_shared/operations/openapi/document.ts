import * as z from "zod";
import type { ErrorCode } from "../../request/errors.ts";
import { sentTimestamp } from "../../request/fields.ts";
import type { Link } from "../link.ts";
import { loadAll } from "../made_once.ts";
import type { Operation } from "../operation.ts";
import { Components } from "./components.ts";
import {
  acceptedResponse,
  errorResponses,
  HEADERS,
  jsonResponse,
  textOrJsonResponse,
} from "./responses.ts";
import { describeLink } from "./link.ts";
import { describeMetrics } from "./metrics.ts";
import { describeWhoami } from "./whoami.ts";

/** What a function's document says besides its operations. */
export interface Documentation {
  readonly title: string;
  readonly description: string;
  /** What each group of operations is about, by its tag. */
  readonly tags: Readonly<Record<string, string>>;
}

/** The errors that every operation can answer with. */
const COMMON_ERRORS: readonly ErrorCode[] = [
  "invalid_json",
  // The answer to any method but POST.
  "method_not_allowed",
  "body_too_large",
  "invalid_request",
  "rate_limited",
  "internal",
  "upstream_unavailable",
  "maintenance",
  "misconfigured",
];

const health = z.object({
  status: z.literal("ok").meta({ description: "The function can serve." }),
  version: z.string().optional()
    .meta({
      description: "The function's release. Only the operator gets this and the following fields.",
    }),
  time: sentTimestamp.optional().meta({ description: "The function's clock." }),
  settings: z.record(z.string(), z.int()).optional()
    .meta({ description: "The function's numeric settings, by variable." }),
  legacy_key: z.enum(["refused", "accepted", "only_key"]).optional().meta({
    description:
      "Whether the legacy service_role key is accepted as the operator's, if there is one.",
  }),
}).meta({ examples: [{ status: "ok" }] });

/** The JSON of a function's document. Loads everything that it describes. */
export async function writeOpenApiDocument(
  { name, loadDocumentation, operations, links }: {
    /** The function's name. */
    readonly name: string;
    readonly loadDocumentation: () => Promise<{ readonly documentation: Documentation }>;
    readonly operations: ReadonlyMap<string, () => Promise<Operation>>;
    readonly links: ReadonlyMap<string, () => Promise<Link>>;
  },
): Promise<string> {
  const [{ documentation }, describedOperations, describedLinks] = await Promise.all([
    loadDocumentation(),
    loadAll(operations),
    loadAll(links),
  ]);
  return JSON.stringify(openApiDocument({
    name,
    documentation,
    operations: describedOperations,
    links: describedLinks,
  }));
}

/** The OpenAPI 3.1 document of a function, made from the schemas that validate its requests. */
function openApiDocument(
  { name, documentation, operations, links }: {
    /** The function's name. */
    readonly name: string;
    readonly documentation: Documentation;
    readonly operations: readonly (readonly [path: string, operation: Operation])[];
    readonly links: readonly (readonly [pattern: string, link: Link])[];
  },
): object {
  const components = new Components();
  const paths = Object.fromEntries(
    operations
      .filter(([, { isUnlisted }]) => !isUnlisted)
      .map(([path, operation]) => [path, { post: describe(path, operation, components) }]),
  );
  const { title, description, tags } = documentation;
  return {
    openapi: "3.1.0",
    info: { title, description, version: "1" },
    servers: [{ url: `/functions/v1/${name}` }],
    security: [{ agentKey: [] }, { userToken: [] }, { secretKey: [] }],
    tags: Object.entries({
      ...tags,
      Callers: "Who is calling.",
      Health: "Whether the function can serve, and its metrics.",
    }).map(([name, description]) => ({ name, description })),
    paths: {
      ...paths,
      ...Object.fromEntries(
        links.map(([pattern, link]) => describeLink(pattern, link, components)),
      ),
      "/whoami": { get: describeWhoami(components) },
      "/health": { get: describeHealth(components) },
      "/metrics": { get: describeMetrics(components) },
    },
    components: {
      securitySchemes: {
        agentKey: { type: "http", scheme: "bearer", description: "An agent key (`ak_…`)." },
        userToken: {
          type: "http",
          scheme: "bearer",
          bearerFormat: "JWT",
          description:
            "The access token of a signed-in user whose `app_metadata.agent_id` names an agent.",
        },
        secretKey: {
          type: "apiKey",
          in: "header",
          name: "apikey",
          description: "The project's secret key. Its holder is the operator.",
        },
      },
      headers: HEADERS,
      responses: components.responses,
      schemas: components.schemas,
    },
  };
}

function describe(path: string, operation: Operation, components: Components): object {
  const { summary, tag, identification, request, requestExample } = operation;
  const { response, accepted, plainText } = operation;
  const isOpen = identification === "none";
  return {
    operationId: operation.operationId ?? wordsOf(path),
    tags: [tag],
    summary,
    description: describeInWords(operation),
    ...(isOpen && { security: [] }),
    requestBody: {
      required: true,
      content: {
        "application/json": {
          ...components.body(request, "input"),
          ...(requestExample && { example: requestExample }),
        },
      },
    },
    responses: {
      "200": plainText === undefined
        ? jsonResponse("Done.", response, components)
        : textOrJsonResponse("Done.", { json: response, text: plainText }, components),
      ...(accepted && { "202": acceptedResponse(accepted, components) }),
      ...errorResponses([
        ...COMMON_ERRORS,
        ...(isOpen
          ? []
          : ["unauthenticated", "superseded", "forbidden", "agent_name_taken"] as const),
        ...operation.errors,
      ], components),
    },
  };
}

function describeInWords({ description, callers, identification }: Operation): string {
  const isForEverybodyElse = identification === "none" || callers === "the operator";
  const who = isForEverybodyElse ? callers : `${callers}; the operator`;
  return [description, `Who may call it: ${who}.`].filter(Boolean).join(" ");
}

function describeHealth(components: Components): object {
  return {
    operationId: "health",
    tags: ["Health"],
    summary: "Check whether the database answers.",
    description: "The operator gets more details. Who may call it: anybody.",
    security: [],
    responses: {
      "200": jsonResponse("The database answers.", health, components),
      ...errorResponses(
        ["method_not_allowed", "rate_limited", "upstream_unavailable", "misconfigured"],
        components,
      ),
    },
  };
}

/** `/peer/register` → `peerRegister`. */
function wordsOf(path: string): string {
  return path.slice(1).replace(/[/_](.)/g, (_, letter: string) => letter.toUpperCase());
}
