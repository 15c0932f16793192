import type { JSONObject } from "@modelcontextprotocol/server";
import * as z from "zod";
import { madeOnce } from "../made_once.ts";
import { agentId, subject } from "../../request/fields.ts";
import type { Effect, Operation } from "../operation.ts";
import { refusalOf, unknownFields } from "../../request/reading/invalid_request.ts";
import { parseBody } from "../../request/reading/request_body.ts";
import { type ArgumentSchema, settleArguments } from "./arguments.ts";
import type { McpCall, McpDefinition, ToolAnswer, ToolDefinition } from "./definition.ts";

/** The operations of a function, by path. */
export type LoadOperations = ReadonlyMap<string, () => Promise<Operation>>;

/** A tool as hosts show it to a model, and to the person whom they ask for permission. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: InputSchema;
  readonly outputSchema: OutputSchema;
  readonly annotations: Annotations;
}

/** An alias, not an interface: the SDK's types for JSON accept only an alias. */
type InputSchema = {
  readonly type: "object";
  readonly properties: JSONObject;
  readonly required?: string[];
};

/**
 * One field that every answer has. Hosts put what a tool declares into a model's context, and
 * /openapi.json describes the answers.
 */
type OutputSchema = { readonly type: "object"; readonly required: string[] };

/** What is left out is false. A tool that only reads needs no other hint. */
interface Annotations {
  readonly readOnlyHint?: true;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: true;
  readonly openWorldHint: false;
}

const ANNOTATIONS: Readonly<Record<Effect, Omit<Annotations, "openWorldHint">>> = {
  reads: { readOnlyHint: true },
  adds: { destructiveHint: false },
  sets: { destructiveHint: false, idempotentHint: true },
  replaces: { destructiveHint: true, idempotentHint: true },
  renews: { destructiveHint: true },
};

/** The lists of tools, by the operations that they are made from. */
const listsOfTools = new WeakMap<LoadOperations, () => Promise<Tool[]>>();

/**
 * Every operation that a model can call, as a tool. Made once, because that takes as long as to
 * serve many requests.
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
  return loaded.filter(([, operation]) => isForModels(operation)).flatMap(([path, operation]) =>
    toolsOf(path, definition).map((tool) => describeTool(path, operation, tool))
  );
}

/** The tools of an operation. Undefined stands for the operation without changes. */
function toolsOf(
  path: string,
  { tools, furtherTools }: McpDefinition,
): (ToolDefinition | undefined)[] {
  return [tools[path], ...(furtherTools?.[path] ?? [])];
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
  const [path, tool] = [...operations.keys()]
    .flatMap((path) => toolsOf(path, definition).map((tool) => [path, tool] as const))
    .find(([path, tool]) => nameOf(path, tool) === name) ?? [];
  const operation = path && await operations.get(path)?.();
  if (!path || !operation || !isForModels(operation)) return null;
  const { schema, additions } = argumentsOf(operation, tool);
  const settled = settleArguments(given, schema);
  const unknown = unknownFields(settled, { known: Object.keys(schema.properties ?? {}) });
  if (unknown.length > 0) throw refusalOf(unknown);
  if (tool?.call === undefined) return { body: await mcp.run(path, settled) };
  const isAdded = ([field]: [string, unknown]) => Object.hasOwn(additions.shape, field);
  const all = Object.entries(settled);
  const added = await parseBody(additions, Object.fromEntries(all.filter(isAdded)));
  return await tool.call(mcp, {
    given: Object.fromEntries(all.filter((field) => !isAdded(field))),
    added: added as Record<string, unknown>,
  });
}

/** What a tool takes. */
interface Arguments {
  readonly schema: ArgumentSchema;
  readonly additions: z.ZodObject;
}

const IDENTIFIERS = ["artifact_id", "grant_id", "grant_token"];

/** By operation, and by the tool's name: made once, because that takes as long as a call. */
const argumentsByTool = new WeakMap<Operation, Map<string | undefined, Arguments>>();

function argumentsOf(operation: Operation, tool: ToolDefinition | undefined): Arguments {
  const known = argumentsByTool.get(operation) ?? new Map<string | undefined, Arguments>();
  argumentsByTool.set(operation, known);
  const made = known.get(tool?.name) ?? describeArguments(operation, tool);
  known.set(tool?.name, made);
  return made;
}

function describeArguments({ request }: Operation, tool: ToolDefinition | undefined): Arguments {
  const additions = tool?.additions ?? z.object({});
  const whole = z.object({ ...(request as z.ZodObject).shape, ...additions.shape });
  const schema = z.toJSONSchema(whole, {
    io: "input",
    unrepresentable: "any",
    override({ jsonSchema, path }) {
      // Any text is valid, but an empty one never names anything.
      if (IDENTIFIERS.includes(String(path.at(-1)))) jsonSchema.minLength = 1;
    },
  }) as ArgumentSchema;
  const required = schema.required?.filter((field) => !tool?.dispensable?.includes(field)) ?? [];
  return { schema: { ...schema, required }, additions };
}

/** Models cannot call the operator's operations, nor those that are for programs. */
function isForModels({ callers, isForPrograms }: Operation): boolean {
  return callers !== "the operator" && isForPrograms !== true;
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
    outputSchema: { type: "object", required: [tool?.answers ?? firstAnswered(operation)] },
    annotations: { ...ANNOTATIONS[tool?.effect ?? operation.effect], openWorldHint: false },
  };
}

function inputSchemaOf({ request }: Operation, tool: ToolDefinition | undefined): InputSchema {
  const additions = tool?.additions?.shape ?? {};
  const { shape } = request as z.ZodObject;
  const hidden = [
    ...(tool?.hidden ?? []),
    // Hidden: an agent need not name itself. The instructions tell the operator to name one.
    ...Object.keys(shape).filter((field) => isSubject(shape[field] as z.ZodType)),
  ];
  const fields = Object.entries({ ...shape, ...additions })
    .filter(([field]) => field in additions || !hidden.includes(field));
  const { properties = {}, required = [] } = z.toJSONSchema(z.object(Object.fromEntries(fields)), {
    io: "input",
    unrepresentable: "any",
    override: ({ jsonSchema, path }) => shorten(jsonSchema, String(path.at(-1))),
  });
  for (const field of tool?.undescribed ?? []) {
    delete (properties[field] as z.core.JSONSchema.BaseSchema).description;
  }
  const needed = required.filter((field) => !tool?.dispensable?.includes(field));
  return {
    type: "object",
    properties: properties as JSONObject,
    ...(needed.length > 0 && { required: needed }),
  };
}

function firstAnswered({ response }: Operation): string {
  const fields = Object.entries((response as z.ZodObject).shape);
  return fields.find(([, field]) => !(field instanceof z.ZodOptional))![0];
}

function isSubject(field: z.ZodType): boolean {
  return field.meta()?.description === subject.meta()?.description;
}

/** Fields whose names say what they are. */
const SELF_EXPLANATORY = ["artifact_id", "cursor", "grant_id", "limit"];

const LEFT_OUT = ["pattern", "examples", "format", "minLength", "maxLength", "minItems"];

/**
 * Deletes rules that a model reads in the description or learns from a refusal, because a host puts
 * every tool into the context of every conversation. All rules are in /openapi.json.
 */
function shorten(schema: z.core.JSONSchema.BaseSchema, field: string): void {
  const isClear = SELF_EXPLANATORY.includes(field);
  if (schema.description === agentId.meta()?.description) delete schema.description;
  for (const rule of [...LEFT_OUT, ...(isClear ? ["description", "minimum", "maximum"] : [])]) {
    delete schema[rule];
  }
  // A refusal names an unknown field.
  if (schema.additionalProperties === false) delete schema.additionalProperties;
  if (schema.minimum === 0) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  // These defaults are the same as leaving the field out: false, 0, an empty text or list.
  if (["false", "0", '""', "[]"].includes(JSON.stringify(schema.default))) delete schema.default;
}
