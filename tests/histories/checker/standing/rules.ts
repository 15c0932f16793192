/** Rules of standing grants: each commit while one is in force makes one grant, and no other. */
import type { JsonObject } from "../../../conformance/client.ts";
import {
  didHappen,
  entriesOf,
  type Entry,
  isWhole,
  mayHappen,
  type Rule,
  type Violation,
} from "../../history.ts";
import { type KnownArtifact, knownArtifacts } from "../artifacts.ts";
import { mayHaveEnded } from "../versions/versions.ts";
import { endsGrants, madeIn, type Standing, standingIn } from "./standing.ts";

const PATH = "/agent-artifacts/standing";

/** However often a commit is repeated, a standing grant grants it once. */
export const commitsAreGrantedOnce: Rule = (history) =>
  [...Map.groupBy(madeIn(history), nameOf).values()].flatMap((made) => {
    const other = made.find(({ grantId }) => grantId !== made[0]!.grantId);
    return other === undefined
      ? []
      : [{ rule: "one commit was granted twice", entries: [made[0]!.shown, other.shown] }];
  });

/** A commit that began and ended while a standing grant was in force was granted. */
export const promisedCommitsAreGranted: Rule = (history) => {
  const [log] = entriesOf(history, "rpc/find_events").filter(didHappen);
  if (log === undefined) return [];
  const made = new Set(madeIn(history).map(nameOf));
  return inForce(history).filter(([{ id }, { artifactId }]) => !made.has(`${id} ${artifactId}`))
    .map(([{ entry }, { commits }]) => ({
      rule: "a promised commit was not granted",
      entries: [entry, ...commits, log],
    }));
};

/** Both sides see what was granted, unless a request may have ended it. */
export const promisedGrantsAreNotLost: Rule = (history) => {
  const artifacts = knownArtifacts(history);
  const grantIds = new Map(madeIn(history).map((made) => [nameOf(made), made.grantId]));
  const revocations = entriesOf(history, "/agent-artifacts/revoke").filter(mayHappen);
  const lists = Map.groupBy(
    entriesOf(history, "/agent-artifacts/grants").filter(isWholeList),
    ({ request }) => request["artifact_id"],
  );
  const inboxes = Map.groupBy(
    entriesOf(history, "/agent-artifacts/inbox").filter(isWholeList),
    ({ agent }) => agent,
  );
  return inForce(history).flatMap(([standing, artifact]) => {
    const { entry, id, owner, toAgent, possibleEnds } = standing;
    const { artifactId, certainCommit, commits } = artifact;
    const grantId = grantIds.get(`${id} ${artifactId}`);
    if (grantId === undefined) return [];
    const reads = [
      ...(lists.get(artifactId) ?? []).filter(({ agent }) => agent === owner),
      ...(toAgent === null ? [] : inboxes.get(toAgent) ?? []),
    ].filter(({ start }) => start > certainCommit);
    const ends = [
      ...possibleEnds.filter(endsGrants),
      ...revocations.filter(({ request }) =>
        request["grant_id"] === grantId || request["artifact_id"] === artifactId
      ),
    ];
    const without = reads.find((read) =>
      !grantsIn(read).some(({ grant_id }) => grant_id === grantId) &&
      !ends.some(({ start }) => start < read.end) && !mayHaveEnded(artifacts, artifact, read)
    );
    return without === undefined
      ? []
      : [{ rule: "a promised grant is lost", entries: [entry, ...commits, without] }];
  });
};

/** A standing grant grants nothing but what it promises, to whom it promises it, until its end. */
export const nothingElseIsGranted: Rule = (history) => {
  const byId = new Map(standingIn(history).map((standing) => [standing.id, standing]));
  const artifacts = knownArtifacts(history);
  return madeIn(history).flatMap(({ standingId, artifactId, toAgent, shown }): Violation[] => {
    const standing = byId.get(standingId);
    const artifact = artifacts.get(artifactId);
    // The answer to one of them was lost.
    if (standing === undefined || artifact === undefined) return [];
    const { entry, ends } = standing;
    const end = ends.find((ended) => ended.end < artifact.earliestCommit);
    if (end !== undefined) {
      const entries = [entry, end, ...artifact.commits, shown];
      return [{ rule: "an ended standing grant granted a commit", entries }];
    }
    const isEarlier = artifact.certainCommit < entry.start && entry.request["existing"] !== true;
    return standing.promises(artifact) && standing.toAgent === toAgent && !isEarlier
      ? []
      : [{ rule: "a standing grant granted what it does not promise", entries: [entry, shown] }];
  });
};

/** After the answer that ended a standing grant and its grants, nobody sees one of them. */
export const grantsEndWithTheirPromise: Rule = (history) => {
  const made = new Map(madeIn(history).map(({ grantId, standingId }) => [grantId, standingId]));
  const byId = new Map(
    standingIn(history).filter(({ id }) => id !== null).map((standing) => [standing.id, standing]),
  );
  const readings = ["/grants", "/inbox", "/inbox/take"].flatMap((path) =>
    entriesOf(history, `/agent-artifacts${path}`).filter(didHappen)
  );
  return readings.flatMap((read) =>
    grantsIn(read).flatMap(({ grant_id }): Violation[] => {
      const end = byId.get(made.get(String(grant_id)) ?? null)?.ends.find((ended) =>
        endsGrants(ended) && isWhole(ended) && ended.end < read.start
      );
      return end === undefined
        ? []
        : [{ rule: "a grant has outlived its standing grant", entries: [end, read] }];
    })
  );
};

/** Of all requests that end a standing grant, one is told that it did. */
export const standingEndsOnce: Rule = (history) => {
  const answers = Map.groupBy(
    entriesOf(history, `${PATH}/end`).filter(didHappen),
    ({ request }) => request["standing_id"],
  );
  return standingIn(history).flatMap(({ entry, id, possibleEnds }) => {
    const answered = id === null ? [] : answers.get(id) ?? [];
    const ending = answered.filter(({ answer }) => answer!["ended"] === true);
    if (ending.length > 1) return [{ rule: "a standing grant has ended twice", entries: ending }];
    const without = answered.find((end) =>
      end.answer!["ended"] === false &&
      !possibleEnds.some((other) => other !== end && other.start < end.end)
    );
    return without === undefined
      ? []
      : [{ rule: "a standing grant was not ended", entries: [entry, without] }];
  });
};

/** /standing/list has what is in force, and nothing that has ended. */
export const standingIsListed: Rule = (history) => {
  const byOwner = Map.groupBy(standingIn(history), ({ owner }) => owner);
  return entriesOf(history, `${PATH}/list`).filter(isWholeList).flatMap((list) => {
    const shown = new Set(
      (list.answer!["standing_grants"] as JsonObject[]).map(({ standing_id }) => standing_id),
    );
    return (byOwner.get(list.agent) ?? []).flatMap(({ entry, id, ends, possibleEnds }) => {
      if (id === null) return [];
      const end = ends.find((ended) => ended.end < list.start);
      if (end !== undefined && shown.has(id)) {
        return [{ rule: "an ended standing grant is listed", entries: [entry, end, list] }];
      }
      const isLive = entry.end < list.start &&
        !possibleEnds.some(({ start }) => start < list.end);
      return isLive && !shown.has(id)
        ? [{ rule: "a standing grant is lost", entries: [entry, list] }]
        : [];
    });
  });
};

/** Every commit that began and was answered while a standing grant promised it. */
function inForce(history: readonly Entry[]): [Standing, KnownArtifact][] {
  const artifacts = [...knownArtifacts(history).values()];
  return standingIn(history).filter(({ entry, id }) => didHappen(entry) && id !== null)
    .flatMap((standing) =>
      artifacts.filter((artifact) =>
        standing.promises(artifact) && artifact.earliestCommit > standing.entry.end &&
        artifact.certainCommit < Infinity &&
        !standing.possibleEnds.some(({ start }) => start < artifact.certainCommit)
      ).map((artifact): [Standing, KnownArtifact] => [standing, artifact])
    );
}

function isWholeList(entry: Entry): boolean {
  return didHappen(entry) && entry.answer!["next_cursor"] === null;
}

function grantsIn({ answer }: Entry): JsonObject[] {
  return (answer!["grants"] ?? answer!["tasks"]) as JsonObject[];
}

function nameOf(
  { standingId, artifactId }: { readonly standingId: string; readonly artifactId: string },
): string {
  return `${standingId} ${artifactId}`;
}
