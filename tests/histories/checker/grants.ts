/** Rules of grants: a revoked grant is not served; a live grant is. */
import type { Json, JsonObject } from "../../conformance/client.ts";
import {
  didHappen,
  effectEnd,
  entriesOf,
  type Entry,
  isRemoval,
  isWhole,
  mayHappen,
  type Rule,
  type Violation,
} from "../history.ts";
import { type KnownArtifact, knownArtifacts } from "./artifacts.ts";
import { endsGrants, type Standing, standingIn } from "./standing/standing.ts";

/** A grant whose request was answered, and all requests that end it or may end it. */
export interface KnownGrant {
  readonly entry: Entry;
  readonly grantId: unknown;
  readonly token: unknown;
  readonly artifactId: unknown;
  /** Null: every agent of a tag. */
  readonly toAgent: unknown;
  /** Requests that certainly ended the grant when they were answered. */
  readonly ends: readonly Entry[];
  /** Requests that may have ended the grant at any time after they began. */
  readonly possibleEnds: readonly Entry[];
}

/** /fetch, /open, /inbox and /inbox/take serve no grant that ended before their request began. */
export const endedGrantsAreNotServed: Rule = (history) => {
  const grants = knownGrants(history);
  const byToken = new Map(grants.map((grant) => [grant.token, grant]));
  const byId = new Map(grants.map((grant) => [grant.grantId, grant]));
  const violations: Violation[] = [];

  function assertAlive(grant: KnownGrant | undefined, served: Entry, rule: string): void {
    const end = grant?.ends.find((ended) => ended.end < served.start);
    if (end !== undefined) violations.push({ rule, entries: [grant!.entry, end, served] });
  }

  for (const served of history.filter(didHappen)) {
    if (served.operation === "/agent-artifacts/fetch") {
      assertAlive(byToken.get(served.request["grant_token"]), served, "a dead token was redeemed");
    }
    if (served.operation === "/agent-artifacts/inbox") {
      for (const { grant_id } of served.answer!["grants"] as { grant_id: string }[]) {
        assertAlive(byId.get(grant_id), served, "an inbox shows a dead grant");
      }
    }
    if (served.operation === "/agent-artifacts/inbox/take") {
      for (const { grant_id } of served.answer!["tasks"] as { grant_id: string }[]) {
        assertAlive(byId.get(grant_id), served, "a dead grant was taken");
      }
    }
  }
  return violations;
};

/** /open serves an artifact only to its owner, and to an agent whose grant may be live. */
export const nobodyOpensWithoutAGrant: Rule = (history) =>
  servedWithoutAGrant(
    history,
    entriesOf(history, "/agent-artifacts/open").filter(didHappen)
      .map((entry) => [entry.request["artifact_id"], entry]),
  );

/** Nor does /open by a name and a version, and /versions lists nothing else. */
export const nobodySeesVersionsWithoutAGrant: Rule = (history) => {
  const opened = entriesOf(history, "/agent-artifacts/open")
    .filter((entry) => didHappen(entry) && entry.request["key"] !== undefined)
    .map((entry): Served => [entry.answer!["artifact_id"], entry]);
  const listed = entriesOf(history, "/agent-artifacts/versions").filter(didHappen)
    .flatMap((entry) =>
      (entry.answer!["versions"] as JsonObject[])
        .map(({ artifact_id }): Served => [artifact_id, entry])
    );
  return servedWithoutAGrant(history, [...opened, ...listed]);
};

/** The id of an artifact, and the request that was answered with it. */
type Served = readonly [artifactId: Json | undefined, Entry];

function servedWithoutAGrant(history: readonly Entry[], served: readonly Served[]): Violation[] {
  const grants = Map.groupBy(knownGrants(history), ({ artifactId }) => artifactId);
  const registrations = new Map(
    entriesOf(history, "/agent-artifacts/register").filter(didHappen)
      .map((entry) => [entry.answer!["artifact_id"], entry]),
  );
  const unsure = Map.groupBy(
    entriesOf(history, "/agent-artifacts/grant")
      .filter((entry) => mayHappen(entry) && !didHappen(entry)),
    ({ request }) => request["artifact_id"],
  );
  // The answer to a task is granted to its giver.
  const replies = Map.groupBy(
    entriesOf(history, "/agent-artifacts/inbox/done").filter(mayHappen),
    ({ request }) => (request["reply"] as { artifact_id: string } | undefined)?.artifact_id,
  );
  const promises = standingIn(history);
  return served.flatMap(([artifact_id, opened]) => {
    const registered = registrations.get(artifact_id);
    // If the answer to the registration was lost, the owner is unknown.
    if (registered === undefined || registered.agent === opened.agent) return [];
    const isLive = ({ entry, toAgent, ends }: KnownGrant) =>
      (toAgent ?? opened.agent) === opened.agent && entry.start < opened.end &&
      !ends.some((end) => end.end < opened.start);
    const mayBeLive = ({ request, start }: Entry) =>
      (request["to_agent"] ?? opened.agent) === opened.agent &&
      start < opened.end;
    const mayHaveReplied = ({ start }: Entry) => start < opened.end;
    const named = { owner: registered.agent, key: String(registered.answer!["key"]) };
    const mayBePromised = ({ entry, toAgent, ends, promises }: Standing) =>
      entry.start < opened.end && (toAgent ?? opened.agent) === opened.agent && promises(named) &&
      !ends.some((end) => endsGrants(end) && isWhole(end) && end.end < opened.start);
    if (
      grants.get(artifact_id)?.some(isLive) || unsure.get(artifact_id)?.some(mayBeLive) ||
      replies.get(String(artifact_id))?.some(mayHaveReplied)
    ) return [];
    if (promises.some(mayBePromised)) return [];
    return [{ rule: "an artifact was opened without a live grant", entries: [opened] }];
  });
}

/** /inbox shows every grant that was answered earlier, unless a request may have ended it. */
export const grantsAreNotLost: Rule = (history) => {
  const grants = knownGrants(history);
  const whole = entriesOf(history, "/agent-artifacts/inbox")
    .filter((read) => didHappen(read) && read.answer!["next_cursor"] === null);
  return whole.flatMap((read) => {
    const shown = new Set(
      (read.answer!["grants"] as { grant_id: string }[]).map(({ grant_id }) => grant_id),
    );
    return grants
      .filter(({ entry, toAgent, grantId, possibleEnds }) =>
        toAgent === read.agent && entry.end < read.start && !shown.has(String(grantId)) &&
        !possibleEnds.some(({ start }) => start < read.end)
      )
      .map(({ entry }) => ({ rule: "an inbox misses a live grant", entries: [entry, read] }));
  });
};

export function knownGrants(history: readonly Entry[]): KnownGrant[] {
  const removals = Map.groupBy(
    entriesOf(history, "rpc/remove_agent").filter(mayHappen),
    ({ request }) => request["agent_id"],
  );
  const revocations = entriesOf(history, "/agent-artifacts/revoke").filter(mayHappen);
  const byGrant = Map.groupBy(revocations, ({ request }) => request["grant_id"]);
  const byReader = Map.groupBy(revocations, ({ request }) => readerOf(request));
  const deletions = Map.groupBy(
    entriesOf(history, "/agent-artifacts/delete").filter(mayHappen),
    ({ request }) => request["artifact_id"],
  );
  const artifacts = knownArtifacts(history);
  const endings = grantEndings(artifacts);
  return entriesOf(history, "/agent-artifacts/grant").filter(didHappen).map((entry) => {
    const { grant_id: grantId, token, artifact_id: artifactId, to_agent: toAgent } = entry.answer!;
    const requests = [
      ...byGrant.get(grantId) ?? [],
      ...byReader.get(readerOf(entry.answer!)) ?? [],
      ...deletions.get(artifactId) ?? [],
      ...removals.get(toAgent) ?? [],
      ...removals.get(entry.agent) ?? [],
    ].filter((end) => effectEnd(end) > entry.start);
    const commits = endings.get(nameOf(artifacts.get(String(artifactId)))) ?? [];
    const possibleEnds = [
      ...requests,
      ...commits.filter((end) =>
        effectEnd(end) > entry.start && end.request["artifact_id"] !== artifactId
      ),
    ];
    // A request that began before the answer to the grant may have run before the grant, without
    // effect.
    const ends = requests.filter((end) =>
      didHappen(end) && end.start > entry.end && (isWhole(end) || !isRemoval(end))
    );
    return { entry, grantId, token, artifactId, toAgent, ends, possibleEnds };
  });
}

/** The artifact and the agent that a grant or a revocation without `grant_id` names. */
function readerOf({ artifact_id, to_agent }: JsonObject): string {
  return `${artifact_id} ${to_agent}`;
}

/** The commits with `keep_versions` that may end granted versions of a name, by `nameOf`. */
function grantEndings(artifacts: ReadonlyMap<string, KnownArtifact>): Map<string, Entry[]> {
  const endings = new Map<string, Entry[]>();
  for (const artifact of artifacts.values()) {
    if (artifact.registered.request["end_grants"] !== true) continue;
    const name = nameOf(artifact);
    endings.set(name, [...endings.get(name) ?? [], ...artifact.commits]);
  }
  return endings;
}

function nameOf(artifact: KnownArtifact | undefined): string {
  return `${artifact?.owner} ${artifact?.key}`;
}
