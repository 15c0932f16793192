import { basename } from "node:path";
import { lookup } from "mrmime";
import type { Task } from "../../agent-files/tasks/task.ts";
import { plain } from "../../command/terminal/output.ts";
import type { Output } from "../../command/terminal/output.ts";
import { CannotStart, type Outcome, runProgram } from "./program.ts";
import { TaskFolder } from "./task_folder.ts";

/** How many bytes a file's name may have in the service. */
const MOST_KEY_BYTES = 1024;

export interface Work {
  readonly words: readonly [string, ...string[]];
  /** The file that answers a task, relative to where the program runs. */
  readonly reply: string | undefined;
  readonly maxSeconds: number | undefined;
  readonly output: Output;
}

interface Report {
  /** `lost`: it was given back, or its take or its grant ended meanwhile. */
  readonly state: "done" | "waiting" | "taken" | "parked" | "lost";
  readonly exit_code: number | null;
  readonly reason: string | null;
  readonly reply: { readonly grant_id: string } | null;
}

/** Runs the program for one task, and records the outcome. Rejects only if that is impossible. */
export async function workOn(task: Task, work: Work): Promise<void> {
  const report = await outcomeOf(task, work);
  const { id, key, from, attempt } = task;
  const facts = { grant_id: id, key, from_agent: from, attempt, ...report };
  await work.output.value(facts, ({ state, reason }) =>
    [
      state === "done" ? "done" : state === "lost" ? "lost" : "failed",
      plain(key),
      `from ${plain(from)}`,
      ...(reason === null ? [] : [`${plain(reason)}${state === "parked" ? " (parked)" : ""}`]),
    ].join("  "));
}

async function outcomeOf(task: Task, work: Work): Promise<Report> {
  let ended: Outcome = { code: null, reason: null };
  try {
    await using folder = await TaskFolder.create();
    const file = await folder.save(task);
    ended = await runProgram(work.words, {
      folder: folder.workplace,
      environment: {
        AGENT_FILE: file,
        AGENT_NOTE: task.note ?? "",
        AGENT_FROM: task.from,
        AGENT_TASK: task.id,
      },
      signal: task.signal,
      maxSeconds: work.maxSeconds,
    });
    if (ended.reason !== null) throw new Error(ended.reason);
    const { reply } = await task.done(
      work.reply === undefined ? {} : {
        reply: { path: await folder.written(work.reply) },
        key: replyKey(task, work.reply),
        mime: lookup(work.reply) ?? "application/octet-stream",
      },
    );
    return { state: "done", exit_code: 0, reason: null, reply };
  } catch (error) {
    if (error instanceof CannotStart) {
      await task.release();
      throw error;
    }
    const isLost = task.signal.aborted;
    const cause: unknown = isLost ? task.signal.reason : error;
    const reason = cause instanceof Error ? cause.message : String(cause);
    const failed = isLost ? null : await task.fail(reason);
    const state = failed?.state === "done" ? "lost" : failed?.state ?? "lost";
    return { state, exit_code: ended.code, reason, reply: null };
  }
}

/** The names of both files, so that two replies have one name only if they answer one file. */
function replyKey({ key, id }: Task, reply: string): string {
  const named = `replies/${key}/${basename(reply)}`;
  const isShort = new TextEncoder().encode(named).byteLength <= MOST_KEY_BYTES;
  return isShort ? named : `replies/${id}/${basename(reply)}`;
}
