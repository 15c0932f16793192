import type { ArtifactsAnswer, MeshAnswer } from "../contract/types.ts";
import type { Connection } from "../http/connection.ts";
import { type FollowOptions, restAfterWait, WAIT_SECONDS } from "./waiting.ts";

export interface EventsOptions extends FollowOptions {
  /** Only what happened since: a position that `onPosition` was called with. */
  readonly after?: string;
  /** Called with a position once everything before it was given. */
  readonly onPosition?: (position: string) => void;
  /** Only these types. */
  readonly types?: readonly string[];
}

type Page = ArtifactsAnswer<"/events"> | MeshAnswer<"/events">;

/**
 * What happened to the agent and by it, oldest first: the newest page, or all since `after`; with
 * `wait`, then every event as it comes. None is missed and none comes twice.
 */
export async function* followEvents<ItsPage extends Page>(
  connection: Connection,
  options: EventsOptions,
): AsyncGenerator<ItsPage["events"][number], void, undefined> {
  let { after } = options;
  while (true) {
    const isWaiting = options.wait === true && after !== undefined;
    const sentAt = performance.now();
    const page: ItsPage = await connection.post<ItsPage>("/events", {
      ...(connection.agentId !== undefined && { agent_id: connection.agentId }),
      ...(options.types !== undefined && { types: options.types }),
      ...(after !== undefined && { after }),
      ...(isWaiting && { wait_seconds: WAIT_SECONDS }),
    }, options);
    yield* page.events;
    after = page.latest;
    options.onPosition?.(after);
    if (!options.wait && !page.more) return;
    if (isWaiting && page.events.length === 0) await restAfterWait(sentAt, connection, options);
  }
}
