import {
  type CallToolResult,
  createMcpHandler,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { errorBody, messageOf } from "../../request/error_body.ts";
import { errorEntry, ServiceError } from "../../request/errors.ts";
import type {
  McpCall,
  McpDefinition,
  ResourceDefinition,
  ResourceLink,
  TaskDefinition,
  ToolAnswer,
} from "./definition.ts";
import { displayed, escapedJson, visible } from "./escapes.ts";
import { refuseVersion, settleHeaders } from "./headers.ts";
import { settleMessage } from "./message.ts";
import { begunTask, knowsTasks, serveTasks, TASKS } from "./task_extension.ts";
import { callTool, listTools, type LoadOperations } from "./tools.ts";

/** What the answer to one message needs. */
export interface McpService {
  /** The function's name. */
  readonly name: string;
  readonly operations: LoadOperations;
  readonly definition: McpDefinition;
  readonly mcp: McpCall;
  readonly requestId: string;
  /** Gets the error of a failed call, for the log. */
  readonly noteError: (error: unknown) => void;
}

/**
 * Answers one message, with a server that exists only for this message. The client may speak
 * 2026-07-28 or an older version. There are no streams: the answer is complete when this resolves,
 * so that the request's log line has everything that was done.
 */
export async function serveMessage(
  received: Request,
  sent: object,
  service: McpService,
): Promise<Response> {
  const message = settleMessage(sent);
  const request = settleHeaders(received, message);
  const refusal = refuseVersion(request, message);
  if (refusal !== null) return refusal;
  const server = createServer(service);
  if (!await isLegacyRequest(request, message)) {
    const handler = createMcpHandler(() => server, {
      legacy: "reject",
      // This server announces no changes, and a stream would stay open until the platform ends it.
      maxSubscriptions: 0,
    });
    return await handler.fetch(request, { parsedBody: message });
  }
  // The handler above would answer older clients with a stream.
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  try {
    return await transport.handleRequest(request, { parsedBody: message });
  } finally {
    await server.close();
  }
}

/**
 * These lists change only with a deployment. A client that caches them asks once a session, and
 * sees a new release within the hour.
 */
const CHANGED_BY_DEPLOYMENT = { ttlMs: 3_600_000, cacheScope: "private" } as const;

function createServer(service: McpService): Server {
  const { name, operations, definition, mcp } = service;
  const { resources, tasks } = definition;
  // The lower of the SDK's two layers. The higher one would check arguments by itself, with other
  // errors than HTTP has, and its lists of resources have no pages.
  const server = new Server(
    { name, title: definition.title, version: "1" },
    {
      capabilities: {
        tools: {},
        ...(resources && { resources: {} }),
        ...(tasks && { extensions: TASKS }),
      },
      instructions: definition.instructions,
      cacheHints: {
        "tools/list": CHANGED_BY_DEPLOYMENT,
        "resources/templates/list": CHANGED_BY_DEPLOYMENT,
        "server/discover": CHANGED_BY_DEPLOYMENT,
      },
    },
  );
  server.setRequestHandler("tools/list", async () => ({
    tools: await listTools(operations, definition),
  }));
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    try {
      const answer = await callTool(params.name, params.arguments ?? {}, {
        operations,
        definition,
        mcp,
      });
      if (answer !== null && params.name === tasks?.tool && knowsTasks(context)) {
        return begunTask(tasks.begun(answer.body));
      }
      if (answer !== null) return toolResult(answer);
    } catch (error) {
      return failedResult(noteFailure(error, service));
    }
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${params.name}.`);
  });
  if (resources !== undefined) addResources(server, resources, service);
  if (tasks !== undefined) addTasks(server, tasks, service);
  return server;
}

function addTasks(server: Server, tasks: TaskDefinition, service: McpService): void {
  const { mcp } = service;
  const told = (error: unknown) => {
    throw protocolError(error, service);
  };
  serveTasks(server, {
    get: (taskId) => tasks.get(mcp, taskId).catch(told),
    end: (taskId) => tasks.end(mcp, taskId).catch(told),
    resultOf: ({ body, isError }) => isError ? failedResult(body) : toolResult({ body }),
  });
}

function addResources(server: Server, resources: ResourceDefinition, service: McpService): void {
  const { mcp } = service;
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [...resources.templates],
  }));
  server.setRequestHandler("resources/list", async ({ params }) => {
    const page = await resources.list(mcp, params?.cursor ?? null).catch((error) => {
      throw protocolError(error, service);
    });
    return {
      resources: page.resources.map(shown),
      ...(page.nextCursor !== null && { nextCursor: page.nextCursor }),
    };
  });
  server.setRequestHandler("resources/read", async ({ params: { uri } }) => {
    const content = await resources.read(mcp, uri).catch((error) => {
      throw protocolError(error, service);
    });
    if (content === null) throw new ResourceNotFoundError(uri);
    return { contents: [{ uri, ...content }] };
  });
}

function toolResult({ body, link }: ToolAnswer): CallToolResult {
  return {
    content: [
      { type: "text", text: escapedJson(body) },
      ...(link === undefined ? [] : [{ type: "resource_link" as const, ...shown(link) }]),
    ],
    structuredContent: displayed(body) as Record<string, unknown>,
  };
}

/** Without `structuredContent`: clients compare it with the schema of a success. */
function failedResult(body: object): CallToolResult {
  return { content: [{ type: "text", text: escapedJson(body) }], isError: true };
}

/** Shows hidden characters in the name. Clients only display the name; they send back the URI. */
function shown<Named extends ResourceLink>(link: Named): Named {
  return { ...link, name: visible(link.name) };
}

/** Notes an error for the log, and returns the body that it would have over HTTP. */
function noteFailure(error: unknown, { requestId, noteError }: McpService): object {
  noteError(error);
  return errorBody(knownError(error), requestId);
}

/** For methods whose result cannot be an error. */
function protocolError(error: unknown, service: McpService): ProtocolError {
  const known = knownError(error);
  const code = errorEntry(known.code).status < 500
    ? ProtocolErrorCode.InvalidParams
    : ProtocolErrorCode.InternalError;
  return new ProtocolError(code, messageOf(known), noteFailure(error, service));
}

function knownError(error: unknown): ServiceError {
  return error instanceof ServiceError ? error : new ServiceError("internal");
}
