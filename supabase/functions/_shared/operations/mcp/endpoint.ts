import { type Caller, callerId } from "../../identity/callers/caller.ts";
import { ServiceError } from "../../request/errors.ts";
import { publicOrigin } from "../../request/reading/public_origin.ts";
import { readJsonObject } from "../../request/reading/request_body.ts";
import type { RateLimits, Slot } from "../../request/limits/rate_limits.ts";
import { runOperation } from "../run_operation.ts";
import type { PlatformSettings } from "../../request/settings/platform.ts";
import type { McpDefinition } from "./definition.ts";
import type { LoadOperations } from "./tools.ts";
import { takeTurn } from "./message_turns.ts";

/** What the pipeline of a function passes on of a request to /mcp, and callbacks for its log. */
export interface McpEndpoint {
  /** The function's name. */
  readonly name: string;
  readonly operations: LoadOperations;
  readonly loadMcp: () => Promise<{ readonly mcp: McpDefinition }>;
  readonly settings: PlatformSettings;
  /** Throws unauthenticated, rate_limited and upstream_unavailable. */
  readonly admit: () => Promise<{ readonly caller: Caller; readonly slot: Slot }>;
  readonly requestId: string;
  readonly rateLimits: RateLimits;
  readonly noteOperation: (path: string) => void;
  readonly noteError: (error: unknown) => void;
}

/**
 * Answers one POST of the Model Context Protocol. Throws forbidden for a page of another origin,
 * what `admit` throws, invalid_json and body_too_large. What a tool's operation throws becomes an
 * answer instead.
 */
export async function answerMcp(request: Request, endpoint: McpEndpoint): Promise<Response> {
  refuseForeignOrigin(request.headers, endpoint.settings);
  const { caller, slot } = await endpoint.admit();
  const message = await readJsonObject(request);
  // Loaded only after admission: the SDK takes longer to load than everything else together.
  const [{ serveMessage }, { mcp: definition }] = await Promise.all([
    import("./server.ts"),
    endpoint.loadMcp(),
  ]);
  if (caller.kind !== "operator") await takeTurn(callerId(caller));
  const { operations, settings, requestId, rateLimits, noteError } = endpoint;
  return await serveMessage(request, message, {
    name: endpoint.name,
    operations,
    definition,
    requestId,
    noteError,
    mcp: {
      settings,
      urlOf: (path) => `${publicOrigin(request, settings)}/functions/v1/${endpoint.name}${path}`,
      async run<Answer>(path: string, body: object): Promise<Answer> {
        endpoint.noteOperation(path);
        const operation = await operations.get(path)!();
        const call = { body, caller, requestId, request, slot, rateLimits };
        const answer = await runOperation(operation, call);
        return (answer instanceof Response ? await answer.json() : answer) as Answer;
      },
    },
  });
}

/**
 * Browsers send the page's origin; other clients send no `Origin`. A page must not use its
 * visitor's network or credentials to reach this server (MCP, Streamable HTTP, "Security Warning").
 */
function refuseForeignOrigin(headers: Headers, { mcpAllowedOrigins }: PlatformSettings): void {
  const origin = headers.get("origin");
  if (origin === null || mcpAllowedOrigins?.includes(origin)) return;
  throw new ServiceError("forbidden", {
    message: "Pages of this origin may not use MCP here. The operator lists those that may in " +
      "MCP_ALLOWED_ORIGINS.",
  });
}
