import type { ArtifactsAnswer, MeshAnswer } from "../contract/types.ts";
import type { Connection } from "../http/connection.ts";
import { waitForNews } from "./held_request.ts";
import { type FollowOptions, postAndWait, restAfterWait } from "./waiting.ts";

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
 * each new event. No event is missed, and none is yielded twice.
 */
export async function* followEvents<ItsPage extends Page>(
  connection: Connection,
  options: EventsOptions,
): AsyncGenerator<ItsPage["events"][number], void, undefined> {
  let { after } = options;
  let isBehind = true;
  while (true) {
    // What is new of these types, only /events tells.
    const isTold: boolean = !isBehind && options.types === undefined &&
      await waitForNews(connection, "events_after", after!, options);
    const isWaiting: boolean = !isBehind && !isTold;
    const body = {
      ...(connection.agentId !== undefined && { agent_id: connection.agentId }),
      ...(options.types !== undefined && { types: options.types }),
      ...(after !== undefined && { after }),
    };
    const sentAt = performance.now();
    const page: ItsPage = isWaiting
      ? await postAndWait<ItsPage>(connection, "/events", body, options)
      : await connection.post<ItsPage>("/events", body, options);
    yield* page.events;
    after = page.latest;
    options.onPosition?.(after);
    if (!options.wait && !page.more) return;
    isBehind = page.more;
    if (isWaiting && page.events.length === 0) await restAfterWait(sentAt, connection, options);
  }
}
