import type { ArtifactsAnswer, ArtifactsRequest, InboxEntry } from "../contract/types.ts";
import type { Connection } from "../http/connection.ts";
import { everyPage } from "../http/pages.ts";
import {
  type FollowOptions,
  pollPause,
  restAfterWait,
  startsOver,
  WAIT_SECONDS,
} from "./waiting.ts";

export interface InboxOptions extends FollowOptions {
  /** Only grants from this agent. */
  readonly fromAgent?: string;
  /** Only newer grants: a position from `onPosition`. */
  readonly after?: string;
  /** Called with a position after all grants before it were yielded. */
  readonly onPosition?: (position: string) => void;
}

type Request = ArtifactsRequest<"/inbox">;
type Page = ArtifactsAnswer<"/inbox">;

/**
 * The live grants to the agent, newest first; with `wait`, then each new one as it arrives. A
 * deployment that does not support waiting is queried every two seconds. With `wait`, a position
 * from before a restore of the service is replaced by the beginning.
 */
export async function* followInbox(
  connection: Connection,
  options: InboxOptions,
): AsyncGenerator<InboxEntry, void, undefined> {
  const request: Request = {
    ...(connection.agentId !== undefined && { agent_id: connection.agentId }),
    ...(options.fromAgent !== undefined && { from_agent: options.fromAgent }),
  };
  const shown = new Set<string>();
  let after = options.after;
  let isFirst = true;
  while (true) {
    const waitSeconds = options.wait && !isFirst ? WAIT_SECONDS : 0;
    const sentAt = performance.now();
    const round = readRound(connection, { request, after, waitSeconds }, options);
    let position: string | undefined;
    const seen = new Set<string>();
    try {
      for await (const page of round) {
        // The first page's: grants that arrive while the other pages are read are newer.
        position ??= page.latest;
        for (const grant of page.grants) {
          seen.add(grant.grant_id);
          if (shown.has(grant.grant_id)) continue;
          // An old deployment ignores `from_agent`.
          if (options.fromAgent !== undefined && grant.from_agent !== options.fromAgent) continue;
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
    } else if (waitSeconds > 0 && seen.size === 0) {
      await restAfterWait(sentAt, connection, options);
    }
    isFirst = false;
  }
}

interface Round {
  readonly request: Request;
  readonly after: string | undefined;
  readonly waitSeconds: number;
}

/** The grants since a position, page by page. Only the request for the first page waits. */
function readRound(
  connection: Connection,
  { request, after, waitSeconds }: Round,
  options: InboxOptions,
): AsyncGenerator<Page, void, undefined> {
  return everyPage(({ cursor }) =>
    connection.post<Page>("/inbox", {
      ...request,
      limit: 1000,
      ...(after !== undefined && { after }),
      ...(cursor !== undefined
        ? { cursor }
        : after !== undefined && waitSeconds > 0 && { wait_seconds: waitSeconds }),
    }, options)
  );
}
