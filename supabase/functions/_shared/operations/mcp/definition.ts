import type * as z from "zod";
import type { Effect } from "../operation.ts";
import type { PlatformSettings } from "../../request/settings/platform.ts";
import type { McpTask } from "./task_extension.ts";

/** What a tool or a resource can do while it serves one request. */
export interface McpCall {
  /**
   * Runs the operation of a path for the request's caller. Returns the body of its answer, whether
   * that is a 200 or a 202. Throws what the operation throws.
   */
  readonly run: <Answer = object>(path: string, body: object) => Promise<Answer>;
  readonly settings: PlatformSettings;
  /** The URL at which callers reach a path of this function. */
  readonly urlOf: (path: string) => string;
}

/** A file that an answer is about: what MCP calls a resource link. */
export interface ResourceLink {
  readonly uri: string;
  readonly name: string;
  readonly mimeType: string;
  /** In bytes. */
  readonly size: number;
}

export interface ToolAnswer {
  readonly body: object;
  readonly link?: ResourceLink;
}

/** How a tool differs from its operation. */
export interface ToolDefinition {
  readonly name: string;
  /** Replaces the operation's summary. Undefined: the tool has the operation's. */
  readonly summary?: string;
  /** Replaces the operation's description: what a model has to know beyond the summary. */
  readonly description?: string;
  /** Replaces the operation's effect, if the tool does more to what is stored. */
  readonly effect?: Effect;
  /** The tool's arguments in addition to the operation's fields. */
  readonly additions?: z.ZodObject;
  /** Fields that the operation requires and the tool does not. */
  readonly dispensable?: readonly string[];
  /** Fields of the operation that the tool's schema leaves out. */
  readonly hidden?: readonly string[];
  /** A field that every answer has. Default: the first required one of the operation's answer. */
  readonly answers?: string;
  /** Fields of the operation that the tool's description explains instead. */
  readonly undescribed?: readonly string[];
  /**
   * `given` has the operation's fields, not parsed yet; `added` has what `additions` has parsed.
   * Default: calls the operation.
   */
  readonly call?: (
    mcp: McpCall,
    arguments_: { readonly given: object; readonly added: Readonly<Record<string, unknown>> },
  ) => Promise<ToolAnswer>;
}

/** A tool whose `call` is typed by its additions. */
export function defineTool<Additions extends z.ZodObject>(
  definition: Omit<ToolDefinition, "additions" | "call"> & {
    readonly additions: Additions;
    readonly call: (
      mcp: McpCall,
      arguments_: { readonly given: object; readonly added: z.output<Additions> },
    ) => Promise<ToolAnswer>;
  },
): ToolDefinition {
  // Only what `additions` has parsed is passed to `call`, which makes this cast right.
  return definition as unknown as ToolDefinition;
}

/** A resource in a list. */
export interface ListedResource extends ResourceLink {
  readonly description: string;
}

export interface ResourceTemplate {
  readonly uriTemplate: string;
  readonly name: string;
  readonly description: string;
}

/** The resources of a function, which clients read by URI. */
export interface ResourceDefinition {
  readonly templates: readonly ResourceTemplate[];
  /** One page. Throws ServiceError; a cursor that no page gave is invalid_request. */
  readonly list: (
    mcp: McpCall,
    cursor: string | null,
  ) => Promise<
    { readonly resources: readonly ListedResource[]; readonly nextCursor: string | null }
  >;
  /** Null if the URI names nothing that the caller may read. Throws ServiceError. */
  readonly read: (
    mcp: McpCall,
    uri: string,
  ) => Promise<{ readonly text: string; readonly mimeType: string } | null>;
}

/** A tool whose call begins something that ends later. */
export interface TaskDefinition {
  /** The tool's name. */
  readonly tool: string;
  /** The task that a call began, by the body of its answer. */
  readonly begun: (body: object) => McpTask;
  /** Null: the caller has begun no such task. Throws ServiceError. */
  readonly get: (mcp: McpCall, taskId: string) => Promise<McpTask | null>;
  /** Ends a task that is not over. Throws ServiceError. */
  readonly end: (mcp: McpCall, taskId: string) => Promise<void>;
}

/** What a function tells MCP clients besides its operations. */
export interface McpDefinition {
  readonly title: string;
  /** How to use the tools together, for the model. */
  readonly instructions: string;
  /** By the path of their operation. Every other operation is a tool without changes. */
  readonly tools: Readonly<Record<string, ToolDefinition>>;
  /** More tools, by the path of the operation whose fields they take. */
  readonly furtherTools?: Readonly<Record<string, readonly ToolDefinition[]>>;
  readonly resources?: ResourceDefinition;
  readonly tasks?: TaskDefinition;
}
