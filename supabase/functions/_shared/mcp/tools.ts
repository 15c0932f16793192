import type { JSONObject } from "@modelcontextprotocol/server";
import * as z from "zod";
import { madeOnce } from "../operations/made_once.ts";
import type { Effect, Operation } from "../operations/operation.ts";
import { parseBody } from "../request/request_body.ts";
import type { McpCall, McpDefinition, ToolAnswer, ToolDefinition } from "./definition.ts";

/** The operations of a function, by path. */
export type LoadOperations = ReadonlyMap<string, () => Promise<Operation>>;

/** What hosts show to a model, and ask a person about. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: InputSchema;
  readonly annotations: typeof ANNOTATIONS[Effect] & { readonly openWorldHint: false };
}

/** No interface: it goes into JSON as it is, and the SDK's types take only an alias for that. */
type InputSchema = {
  readonly type: "object";
  readonly properties: JSONObject;
  readonly required: string[];
};

const ANNOTATIONS = {
  reads: { readOnlyHint: true, destructiveHint: false, idempotentHint: true },
  adds: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
  sets: { readOnlyHint: false, destructiveHint: false, idempotentHint: true },
  replaces: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
  renews: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
} as const satisfies Record<Effect, object>;

/** By the operations that they are made of. */
const listsOfTools = new WeakMap<LoadOperations, () => Promise<Tool[]>>();

/**
 * Every operation that an agent can call, as a tool. Made once: it takes as long as serving many
 * requests. Without output schemas: hosts put what a tool declares into a model's context, and the
 * answers are described by /openapi.json.
 */
export function listTools(
  operations: LoadOperations,
  definition: McpDefinition,
): Promise<Tool[]> {
  const list = listsOfTools.get(operations) ??
    madeOnce(() => describeTools(operations, definition));
  listsOfTools.set(operations, list);
  return list();
}

async function describeTools(
  operations: LoadOperations,
  definition: McpDefinition,
): Promise<Tool[]> {
  const loaded = await Promise.all(
    Array.from(operations, async ([path, load]) => [path, await load()] as const),
  );
  return loaded.filter(([, operation]) => isForAgents(operation))
    .map(([path, operation]) => describeTool(path, operation, definition.tools[path]));
}

/** Calls a tool by its name. Null: there is no such tool. Throws ServiceError. */
export async function callTool(
  name: string,
  given: object,
  { operations, definition, mcp }: {
    readonly operations: LoadOperations;
    readonly definition: McpDefinition;
    readonly mcp: McpCall;
  },
): Promise<ToolAnswer | null> {
  const path = [...operations.keys()].find((path) => nameOf(path, definition.tools[path]) === name);
  const operation = path && await operations.get(path)?.();
  if (!path || !operation || !isForAgents(operation)) return null;
  const tool = definition.tools[path];
  if (tool === undefined) return { body: await mcp.run(path, given) };
  const added = parseBody(tool.additions, given) as Record<string, unknown>;
  return await tool.call(mcp, { given, added });
}

/** The operator's own operations are for its commands: it has no model call them. */
function isForAgents({ callers }: Operation): boolean {
  return callers !== "the operator";
}

/** `/peer/register` → `peer_register`. */
function nameOf(path: string, tool: ToolDefinition | undefined): string {
  return tool?.name ?? path.slice(1).replaceAll("/", "_");
}

function describeTool(
  path: string,
  operation: Operation,
  tool: ToolDefinition | undefined,
): Tool {
  const summary = tool?.summary ?? operation.summary;
  const description = tool?.description ?? operation.description;
  return {
    name: nameOf(path, tool),
    description: [summary, description].filter(Boolean).join(" "),
    inputSchema: inputSchemaOf(operation, tool),
    annotations: { ...ANNOTATIONS[tool?.effect ?? operation.effect], openWorldHint: false },
  };
}

function inputSchemaOf(operation: Operation, tool: ToolDefinition | undefined): InputSchema {
  const { properties, required } = jsonSchemaOf(operation.request);
  if (tool === undefined) return { type: "object", properties, required };
  const added = jsonSchemaOf(tool.additions);
  return {
    type: "object",
    properties: { ...properties, ...added.properties },
    required: [...required, ...added.required]
      .filter((field) => !tool.dispensable?.includes(field)),
  };
}

function jsonSchemaOf(schema: z.ZodType): Omit<InputSchema, "type"> {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
  });
  return { properties: properties as JSONObject, required };
}
