import type { ArtifactsAnswer, ArtifactsRequest, InboxEntry } from "../contract/types.ts";
import { untilAborted } from "../http/abortable.ts";
import type { Connection } from "../http/connection.ts";
import { everyPage } from "../http/pages.ts";
import { waitForNews } from "./held_request.ts";
import {
  type FollowOptions,
  pollPause,
  postAndWait,
  restAfterWait,
  startsOver,
} from "./waiting.ts";

export interface InboxOptions extends FollowOptions {
  /** Only grants from this agent. */
  readonly fromAgent?: string;
  /** Only tasks in these states. Default: waiting, and what the agent has taken. */
  readonly states?: NonNullable<Request["states"]>;
  /** Only newer grants: a position from `onPosition`. */
  readonly after?: string;
  /** Called with a position after all grants before it were yielded. */
  readonly onPosition?: (position: string) => void;
}

type Request = ArtifactsRequest<"/inbox">;
type Page = ArtifactsAnswer<"/inbox">;

/**
 * The live grants to the agent, newest first. With `wait`, continues with each new grant as it
 * arrives. A deployment that does not support waiting is queried every two seconds. With `wait`, it
 * starts over from the beginning if the position is from before a restore of the service.
 */
export async function* followInbox(
  connection: Connection,
  options: InboxOptions,
): AsyncGenerator<InboxEntry, void, undefined> {
  const request: Request = {
    ...(connection.agentId !== undefined && { agent_id: connection.agentId }),
    ...(options.fromAgent !== undefined && { from_agent: options.fromAgent }),
    ...(options.states !== undefined && { states: options.states }),
  };
  const shown = new Set<string>();
  let after = options.after;
  let isFirst = true;
  const signal = connection.signalOf(options);
  while (true) {
    const sentAt = performance.now();
    let isWaiting = false;
    let position: string | undefined;
    const seen = new Set<string>();
    try {
      // Only /inbox can wait for grants from one agent, or in some states.
      const isTold = !isFirst && after !== undefined &&
        options.fromAgent === undefined && options.states === undefined &&
        await waitForNews(connection, "inbox_after", after, options);
      isWaiting = !isFirst && after !== undefined && !isTold;
      for await (
        const page of readRound(
          connection,
          { request, after, isWaiting },
          options,
        )
      ) {
        // Keep the first page's position: grants that arrive while the other pages are read are
        // newer.
        position ??= page.latest;
        for (const grant of untilAborted(page.grants, signal)) {
          seen.add(grant.grant_id);
          if (shown.has(grant.grant_id)) continue;
          // An old deployment ignores `from_agent`.
          if (
            options.fromAgent !== undefined &&
            grant.from_agent !== options.fromAgent
          ) continue;
          yield grant;
        }
      }
    } catch (error) {
      if (!startsOver(error, options)) throw error;
      after = undefined;
      isFirst = true;
      await restAfterWait(sentAt, connection, options);
      continue;
    }
    if (position !== undefined) {
      after = position;
      options.onPosition?.(position);
    }
    if (!options.wait) return;
    if (position === undefined) {
      // An old deployment has no positions: remember the grants that were yielded.
      shown.clear();
      for (const id of seen) shown.add(id);
      await pollPause(connection, options);
    } else if (isWaiting && seen.size === 0) {
      await restAfterWait(sentAt, connection, options);
    }
    isFirst = false;
  }
}

interface Round {
  readonly request: Request;
  readonly after: string | undefined;
  readonly isWaiting: boolean;
}

/** The grants since a position, page by page. Only the request for the first page waits. */
function readRound(
  connection: Connection,
  { request, after, isWaiting }: Round,
  options: InboxOptions,
): AsyncGenerator<Page, void, undefined> {
  return everyPage(({ cursor }) => {
    const body = {
      ...request,
      limit: 1000,
      ...(after !== undefined && { after }),
      ...(cursor !== undefined && { cursor }),
    };
    return isWaiting && cursor === undefined
      ? postAndWait<Page>(connection, "/inbox", body, options)
      : connection.post<Page>("/inbox", body, options);
  });
}
