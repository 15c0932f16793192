import type { ArtifactsAnswer, ArtifactsPath, ArtifactsRequest } from "../contract/types.ts";
import { Connection } from "../http/connection.ts";
import type { CallerOptions, CallOptions } from "../http/connection_options.ts";
import type { Task } from "../tasks/task.ts";
import { takeTasks, type TasksOptions } from "../tasks/take_tasks.ts";

/** The operations on grants as work. Each takes and returns the operation's fields. */
export class TaskOperations {
  protected readonly connection: Connection;

  constructor(options: CallerOptions) {
    this.connection = new Connection("agent-artifacts", options);
  }

  /**
   * Takes what other agents hand over, the oldest first, and yields it as work. Each task is held,
   * and its take renewed, until `done`, `fail` or `release` of it is called. Without `await` in the
   * loop, up to `concurrency` tasks are under way at once; otherwise one, and no other is taken
   * meanwhile. When the loop ends, by `break`, an error or the signal, what has no outcome yet is
   * given back. So is a task that the loop leaves without an outcome if `concurrency` is 1.
   *
   * @example
   * ```ts
   * for await (const task of files.tasks()) {
   *   try {
   *     await task.done({ reply: await build(await task.text()) });
   *   } catch (error) {
   *     await task.fail(error);
   *   }
   * }
   * ```
   */
  tasks(options: TasksOptions = {}): AsyncGenerator<Task, void, undefined> {
    return takeTasks(this.connection, options);
  }

  /**
   * Takes grants as work, the oldest first. Nobody else gets them until `taken_until`.
   *
   * @example
   * ```ts
   * const { tasks } = await files.take({ max: 4, wait_seconds: 30 });
   * ```
   */
  take(
    request: ArtifactsRequest<"/inbox/take"> = {},
    options: CallOptions = {},
  ): Promise<ArtifactsAnswer<"/inbox/take">> {
    return this.post<"/inbox/take">("/inbox/take", this.own(request), options);
  }

  /**
   * Holds a taken task for this many seconds from now.
   *
   * @example
   * ```ts
   * const { taken_until } = await files.extend({ take_id, seconds: 300 });
   * ```
   */
  extend(
    request: ArtifactsRequest<"/inbox/extend">,
    options: CallOptions = {},
  ): Promise<ArtifactsAnswer<"/inbox/extend">> {
    return this.post<"/inbox/extend">("/inbox/extend", request, options);
  }

  /**
   * Records that a task is done. With `reply`, grants an artifact of the agent to the giver.
   *
   * @example
   * ```ts
   * await files.done({ take_id, reply: { artifact_id, note: "Built." } });
   * ```
   */
  done(
    request: ArtifactsRequest<"/inbox/done">,
    options: CallOptions = {},
  ): Promise<ArtifactsAnswer<"/inbox/done">> {
    return this.post<"/inbox/done">("/inbox/done", this.own(request), options);
  }

  /**
   * Gives a taken task back: it waits again after a pause, or is parked.
   *
   * @example
   * ```ts
   * const { state } = await files.fail({ take_id, reason: "The plan has no roof." });
   * ```
   */
  fail(
    request: ArtifactsRequest<"/inbox/fail">,
    options: CallOptions = {},
  ): Promise<ArtifactsAnswer<"/inbox/fail">> {
    return this.post<"/inbox/fail">("/inbox/fail", request, options);
  }

  /**
   * Lets a parked task of a grant that the agent gave wait again.
   *
   * @example
   * ```ts
   * await files.requeue({ grant_id });
   * ```
   */
  requeue(
    request: ArtifactsRequest<"/inbox/requeue">,
    options: CallOptions = {},
  ): Promise<ArtifactsAnswer<"/inbox/requeue">> {
    return this.post<"/inbox/requeue">("/inbox/requeue", request, options);
  }

  protected post<Path extends ArtifactsPath>(
    path: Path,
    request: ArtifactsRequest<Path>,
    options: CallOptions,
  ): Promise<ArtifactsAnswer<Path>> {
    return this.connection.post<ArtifactsAnswer<Path>>(
      path,
      request as object,
      options,
    );
  }

  /** Adds the agent's identifier to a request, if the connection knows it. */
  protected own<Request extends object>(
    request: Request,
  ): Request & { agent_id?: string } {
    const { agentId } = this.connection;
    return agentId === undefined ? request : { agent_id: agentId, ...request };
  }
}
