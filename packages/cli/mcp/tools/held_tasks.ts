import type { AgentFiles } from "../../../agent-files/agent_files.ts";
import { AgentError } from "../../../agent-files/errors/agent_error.ts";
import type { Task } from "../../../agent-files/tasks/task.ts";

interface Choice {
  /** For how long each renewal holds the task. */
  readonly takeSeconds: number;
  readonly prefix?: string | undefined;
  readonly fromAgent?: string | undefined;
  /** How long to wait if no task is there. */
  readonly waitSeconds: number;
}

interface Held {
  readonly task: Task;
  /** Ends the loop that yielded the task. Resolves when the service knows. */
  readonly leave: () => Promise<unknown>;
  /** The answer to `done` or `fail`, once there is one. */
  outcome?: object;
}

const TIME_IS_UP = new Error("No task came in time.");

/**
 * The tasks that a model has taken. Their takes are renewed until they have an outcome, or the
 * server ends, because a model cannot renew them while it works.
 */
export class HeldTasks {
  readonly #files: AgentFiles;
  readonly #held = new Map<string, Held>();
  readonly #loops = new Set<AsyncGenerator<Task, void, undefined>>();
  readonly #ending = new AbortController();

  constructor(files: AgentFiles) {
    this.#files = files;
  }

  /** Takes the oldest task, or null. An abort of `signal` ends the waiting, but no task. */
  async take(
    { waitSeconds, takeSeconds, prefix, fromAgent }: Choice,
    signal: AbortSignal,
  ): Promise<Task | null> {
    signal.throwIfAborted();
    const waiting = new AbortController();
    const onAbort = () => waiting.abort(signal.reason);
    signal.addEventListener("abort", onAbort);
    const timer = setTimeout(
      () => waitSeconds > 0 && waiting.abort(TIME_IS_UP),
      waitSeconds * 1000,
    );
    const loop = this.#files.tasks({
      takeSeconds,
      ...(prefix !== undefined && { prefix }),
      ...(fromAgent !== undefined && { fromAgent }),
      wait: waitSeconds > 0,
      signal: AbortSignal.any([this.#ending.signal, waiting.signal]),
    });
    this.#loops.add(loop);
    try {
      const { value: task } = await loop.next();
      if (task) {
        this.#hold(task, loop);
        return task;
      }
      this.#loops.delete(loop);
      return null;
    } catch (error) {
      this.#loops.delete(loop);
      if (error === TIME_IS_UP) return null;
      throw error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    }
  }

  /**
   * Records the outcome of a take. Repeated after success, it returns the same answer. `send`
   * resolves to null if the take is over. Throws `take_lapsed`.
   */
  async settle(
    takeId: string,
    send: (task: Task) => Promise<object | null>,
  ): Promise<object> {
    const held = this.#held.get(takeId);
    if (held === undefined) {
      throw lapsed("This server has no such take. Take the task again.");
    }
    if (held.outcome !== undefined) return held.outcome;
    const answer = await send(held.task);
    if (answer === null) throw held.task.signal.reason ?? lapsed("The take is over.");
    held.outcome = answer;
    await held.leave();
    return answer;
  }

  /** Gives back every task without an outcome. Resolves when the service knows. */
  async end(): Promise<void> {
    this.#ending.abort(new Error("The server ends."));
    await Promise.allSettled([...this.#loops].map((loop) => loop.return()));
  }

  #hold(task: Task, loop: AsyncGenerator<Task, void, undefined>): void {
    const leave = async () => {
      await loop.return();
      this.#loops.delete(loop);
    };
    this.#held.set(task.entry.take_id, { task, leave });
    task.signal.addEventListener("abort", () => void leave(), { once: true });
  }
}

function lapsed(message: string): AgentError {
  return new AgentError({ code: "take_lapsed", message });
}
