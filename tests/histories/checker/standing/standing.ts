/** What a history shows of standing grants: what they promise, and the grants that they made. */
import type { JsonObject } from "../../../conformance/client.ts";
import {
  didHappen,
  effectEnd,
  entriesOf,
  type Entry,
  isRemoval,
  isWhole,
  mayHappen,
  removalsOf,
} from "../../history.ts";
import type { KnownArtifact } from "../artifacts.ts";

type Named = Pick<KnownArtifact, "owner" | "key">;

/** A standing grant that somebody made, or may have made. */
export interface Standing {
  readonly entry: Entry;
  /** Null: the answer was lost. */
  readonly id: string | null;
  readonly owner: string;
  /** Null: every agent of a tag. */
  readonly toAgent: string | null;
  /** Requests that ended it, or may have. */
  readonly possibleEnds: readonly Entry[];
  /** Those that had certainly ended it when they were answered. */
  readonly ends: readonly Entry[];
  readonly promises: (artifact: Named) => boolean;
  /** Whether it may have granted an artifact before the end of a request. */
  readonly mayGrant: (artifact: KnownArtifact, before: Entry) => boolean;
}

/** A grant that a standing grant made, with the answers that show it. */
export interface MadeGrant {
  readonly grantId: string;
  readonly standingId: string;
  readonly artifactId: string;
  readonly toAgent: string | null;
  readonly shown: Entry;
}

const PATH = "/agent-artifacts/standing";

export function standingIn(history: readonly Entry[]): Standing[] {
  const ends = Map.groupBy(
    entriesOf(history, `${PATH}/end`).filter(mayHappen),
    ({ request }) => request["standing_id"],
  );
  const created = entriesOf(history, `${PATH}/create`).filter(mayHappen);
  const agents = new Set(created.flatMap(({ agent, request }) => [agent, request["to_agent"]]));
  const removals = new Map(
    Array.from(agents, (agent) => [agent, removalsOf(history, agent)]),
  );
  return created.map((entry) => {
    const { agent: owner, request } = entry;
    const id = (entry.answer?.["standing_id"] ?? null) as string | null;
    const toAgent = (request["to_agent"] ?? null) as string | null;
    const possibleEnds = [
      ...(id === null ? [] : ends.get(id) ?? []),
      ...removals.get(owner)!,
      ...removals.get(request["to_agent"])!,
    ].filter((end) => effectEnd(end) > entry.start);
    const certain = possibleEnds.filter((end) =>
      didHappen(end) && end.start > entry.end && (isWhole(end) || !isRemoval(end))
    );
    const promises = (artifact: Named) => artifact.owner === owner && covers(request, artifact.key);
    return {
      entry,
      id,
      owner,
      toAgent,
      possibleEnds,
      ends: certain,
      promises,
      mayGrant: (artifact, before) =>
        promises(artifact) && entry.start < before.end &&
        !certain.some(({ end }) => end < artifact.earliestCommit) &&
        // Without `existing`, it grants what is committed after it was made.
        (request["existing"] === true || artifact.certainCommit > entry.start),
    };
  });
}

/** Every grant that /grants or the event log show as made by a standing grant, once per answer. */
export function madeIn(history: readonly Entry[]): MadeGrant[] {
  const listed = entriesOf(history, "/agent-artifacts/grants").filter(didHappen)
    .flatMap((entry) =>
      (entry.answer!["grants"] as JsonObject[]).map((shown) => [shown, entry] as const)
    );
  const logged = entriesOf(history, "rpc/find_events").filter(didHappen).flatMap((entry) =>
    (entry.answer!["events"] as JsonObject[]).filter(({ type }) => type === "grant.created")
      .map((shown) => [shown, entry] as const)
  );
  return [...listed, ...logged].filter(([{ standing_id }]) => typeof standing_id === "string")
    .map(([made, shown]) => ({
      grantId: String(made["grant_id"]),
      standingId: String(made["standing_id"]),
      artifactId: String(made["artifact_id"]),
      toAgent: (made["to_agent"] ?? null) as string | null,
      shown,
    }));
}

/** Whether a request to end a standing grant ends the grants that it made, too. */
export function endsGrants({ request }: Entry): boolean {
  return request["end_grants"] !== false;
}

function covers({ key, prefix }: JsonObject, name: string): boolean {
  return prefix === undefined ? name === key : name.startsWith(String(prefix));
}
