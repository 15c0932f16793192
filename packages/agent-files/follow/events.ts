import type { ArtifactsAnswer, MeshAnswer } from "../contract/types.ts";
import { untilAborted } from "../http/abortable.ts";
import type { Connection } from "../http/connection.ts";
import { waitForNews } from "./held_request.ts";
import { type FollowOptions, postAndWait, restAfterWait, startsOver } from "./waiting.ts";

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
 * The events of the agent, oldest first: the newest page, or all since `after`. With `wait`,
 * continues with each new event. No event is missed, and none is yielded twice, except after a
 * restore of the service: then it continues with the newest page.
 */
export async function* followEvents<ItsPage extends Page>(
  connection: Connection,
  options: EventsOptions,
): AsyncGenerator<ItsPage["events"][number], void, undefined> {
  let { after } = options;
  let isBehind = true;
  while (true) {
    const sentAt = performance.now();
    let isWaiting = false;
    let page: ItsPage;
    try {
      // Only /events can wait for events of certain types.
      const isTold: boolean = !isBehind && options.types === undefined &&
        await waitForNews(connection, "events_after", after!, options);
      isWaiting = !isBehind && !isTold;
      const body = {
        ...(connection.agentId !== undefined &&
          { agent_id: connection.agentId }),
        ...(options.types !== undefined && { types: options.types }),
        ...(after !== undefined && { after }),
      };
      page = isWaiting
        ? await postAndWait<ItsPage>(connection, "/events", body, options)
        : await connection.post<ItsPage>("/events", body, options);
    } catch (error) {
      if (!startsOver(error, options)) throw error;
      after = undefined;
      isBehind = true;
      await restAfterWait(sentAt, connection, options);
      continue;
    }
    const events: readonly ItsPage["events"][number][] = page.events;
    yield* untilAborted(events, connection.signalOf(options));
    after = page.latest;
    options.onPosition?.(after);
    if (!options.wait && !page.more) return;
    isBehind = page.more;
    if (isWaiting && page.events.length === 0) {
      await restAfterWait(sentAt, connection, options);
    }
  }
}
