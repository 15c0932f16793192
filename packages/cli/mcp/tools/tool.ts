import type * as z from "zod";
import type { AgentFiles } from "../../../agent-files/agent_files.ts";
import type { AgentMesh } from "../../../agent-files/agent_mesh.ts";
import type { Progress } from "../../../agent-files/transfer/put.ts";
import type { Root } from "../root.ts";
import type { HeldTasks } from "./held_tasks.ts";

/** What a tool works with while it serves one call. */
export interface ToolCall {
  readonly files: AgentFiles;
  readonly mesh: AgentMesh;
  readonly root: Root;
  /** The tasks that were taken while this server runs. */
  readonly tasks: HeldTasks;
  /** Aborted when the host cancels the call, or ends. */
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
}

/**
 * The hints by which hosts decide whether to ask a person first, without those that say what a
 * missing one says: `readOnlyHint` and `idempotentHint` are false then. What reads is neither
 * destructive nor worth to be called idempotent.
 */
const EFFECTS = {
  reads: { readOnlyHint: true },
  adds: { destructiveHint: false },
  sets: { destructiveHint: false, idempotentHint: true },
  replaces: { destructiveHint: true, idempotentHint: true },
  renews: { destructiveHint: true },
} as const;

interface Definition<Input extends z.ZodObject> {
  readonly name: string;
  readonly description: string;
  readonly effect: keyof typeof EFFECTS;
  readonly input: Input;
  /** A field that every answer has. */
  readonly answers: string;
  /** Returns what the model reads. */
  readonly call: (given: z.output<Input>, call: ToolCall) => Promise<object>;
}

export interface Tool extends Omit<Definition<z.ZodObject>, "effect" | "call"> {
  readonly annotations: typeof EFFECTS[keyof typeof EFFECTS] & {
    readonly openWorldHint: false;
  };
  readonly call: (
    given: Record<string, unknown>,
    call: ToolCall,
  ) => Promise<object>;
}

export function defineTool<Input extends z.ZodObject>(
  { effect, call, ...described }: Definition<Input>,
): Tool {
  return {
    ...described,
    annotations: { ...EFFECTS[effect], openWorldHint: false },
    // The cast is safe because the SDK parses the arguments by `input` first.
    call: call as unknown as Tool["call"],
  };
}
