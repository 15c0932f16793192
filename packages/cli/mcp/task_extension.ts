// Made by `deno task client:types` of supabase/functions/_shared/operations/mcp/task_extension.ts.

import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type Result,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import * as z from "zod";

/** The extension Tasks (SEP-2663), as both sides declare it. */
export const TASKS = { "io.modelcontextprotocol/tasks": {} };

/** What a tool's call has begun, and ends later. */
export interface McpTask {
  readonly taskId: string;
  readonly status: "working" | "completed" | "cancelled";
  readonly statusMessage?: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** How long after `createdAt` it is known. */
  readonly ttlMs: number;
  readonly pollIntervalMs: number;
  /** What the tool's call answers in the end. Only if the task is completed. */
  readonly outcome?: { readonly body: object; readonly isError: boolean };
}

/** The tasks of one caller. Its functions throw errors of the protocol. */
export interface PolledTasks {
  /** Null: the caller has begun no such task. */
  readonly get: (taskId: string, signal: AbortSignal) => Promise<McpTask | null>;
  /** Ends a task that is not over. */
  readonly end: (taskId: string, signal: AbortSignal) => Promise<unknown>;
  readonly resultOf: (outcome: NonNullable<McpTask["outcome"]>) => Result;
}

/** Whether the client polls tasks: each request says it, from 2026-07-28 on. */
export function knowsTasks({ mcpReq }: ServerContext): boolean {
  const envelope = mcpReq.envelope as Partial<Record<string, ClientCapabilities>> | undefined;
  const declared = envelope?.[CLIENT_CAPABILITIES_META_KEY]?.extensions;
  return Object.keys(TASKS).every((name) => declared?.[name] !== undefined);
}

/** The answer to the call that began the task. The SDK adds `content` to every such answer. */
export function begunTask(task: McpTask) {
  return { ...shownTask(task), resultType: "task", content: [] };
}

/** Answers the methods of the extension. */
export function serveTasks(server: Server, { get, end, resultOf }: PolledTasks): void {
  const params = z.looseObject({ taskId: z.string() });
  const find = async (taskId: string, context: ServerContext) => {
    if (!knowsTasks(context)) {
      throw new MissingRequiredClientCapabilityError({
        requiredCapabilities: { extensions: TASKS },
      });
    }
    const task = await get(taskId, context.mcpReq.signal);
    if (task !== null) return task;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, "There is no such task.");
  };
  server.setRequestHandler("tasks/get", { params }, async ({ taskId }, context) => {
    const task = await find(taskId, context);
    if (task.outcome === undefined) return shownTask(task);
    const result = { ...resultOf(task.outcome), resultType: "complete" };
    return { ...shownTask(task), result };
  });
  // No task asks its client for anything.
  server.setRequestHandler("tasks/update", { params }, async ({ taskId }, context) => {
    await find(taskId, context);
    return {};
  });
  server.setRequestHandler("tasks/cancel", { params }, async ({ taskId }, context) => {
    const { status } = await find(taskId, context);
    // What is over stays as it is: the file of a task that is done can still be opened.
    if (status === "working") await end(taskId, context.mcpReq.signal);
    return {};
  });
}

function shownTask({ outcome: _, ...task }: McpTask): Omit<McpTask, "outcome"> {
  return task;
}
