import type { ArtifactsAnswer, MeshAnswer } from "../contract/types.ts";
import type { Connection } from "../http/connection.ts";
import { type FollowOptions, restAfterWait, startsOver, WAIT_SECONDS } from "./waiting.ts";

export interface EventsOptions extends FollowOptions {
  /** Only newer events: a position from `onPosition`. */
  readonly after?: string;
  /** Called with a position after all events before it were yielded. */
  readonly onPosition?: (position: string) => void;
  /** Only events of these types. */
  readonly types?: readonly string[];
}

type Page = ArtifactsAnswer<"/events"> | MeshAnswer<"/events">;

/**
 * The events of the agent, oldest first: the newest page, or all since `after`; with `wait`, then
 * each new event. No event is missed, and none is yielded twice, except after a restore of the
 * service: then it goes on with the newest page.
 */
export async function* followEvents<ItsPage extends Page>(
  connection: Connection,
  options: EventsOptions,
): AsyncGenerator<ItsPage["events"][number], void, undefined> {
  let { after } = options;
  while (true) {
    const isWaiting = options.wait === true && after !== undefined;
    const sentAt = performance.now();
    let page: ItsPage;
    try {
      page = await connection.post<ItsPage>("/events", {
        ...(connection.agentId !== undefined && { agent_id: connection.agentId }),
        ...(options.types !== undefined && { types: options.types }),
        ...(after !== undefined && { after }),
        ...(isWaiting && { wait_seconds: WAIT_SECONDS }),
      }, options);
    } catch (error) {
      if (!startsOver(error, options)) throw error;
      after = undefined;
      await restAfterWait(sentAt, connection, options);
      continue;
    }
    yield* page.events;
    after = page.latest;
    options.onPosition?.(after);
    if (!options.wait && !page.more) return;
    if (isWaiting && page.events.length === 0) await restAfterWait(sentAt, connection, options);
  }
}
