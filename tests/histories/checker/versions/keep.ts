/** Rules of `keep_versions`: a commit ends the oldest versions beyond that many, and no other. */
import type { JsonObject } from "../../../conformance/client.ts";
import { didHappen, entriesOf, type Entry, mayHappen, type Rule } from "../../history.ts";
import { certainDeletions, keepersOf, type KnownArtifact, knownArtifacts } from "../artifacts.ts";
import { knownGrants } from "../grants.ts";
import { standingIn } from "../standing/standing.ts";
import { versionsOf } from "./versions.ts";

/** A whole list of the versions of a name, by its owner, with everything known of that name. */
interface Listing {
  readonly list: Entry;
  readonly shown: ReadonlySet<string>;
  /** Whose versions are known. */
  readonly artifacts: readonly KnownArtifact[];
  readonly versions: ReadonlyMap<string, number>;
}

/** A version is missing only if so many newer ones were kept, or if it may have been deleted. */
export const keepEndsOnlyTheOldest: Rule = (history) => {
  const grants = Map.groupBy(knownGrants(history), ({ artifactId }) => artifactId);
  const all = knownArtifacts(history);
  return listingsIn(history).flatMap(({ list, shown, artifacts, versions }) =>
    artifacts.filter(({ artifactId, certainCommit, deletions }) =>
      !shown.has(artifactId) && certainCommit < list.start &&
      !deletions.some(({ start }) => start < list.end)
    ).filter((missing) => {
      const version = versions.get(missing.artifactId)!;
      return !keepersOf(all.values(), missing).some((keeper) => {
        if (keeper.earliestCommit > list.end) return false;
        const limit = versions.get(keeper.artifactId);
        // What nobody was answered may be any version.
        if (limit === undefined) return true;
        const between = artifacts.filter(({ artifactId }) =>
          versions.get(artifactId)! > version && versions.get(artifactId)! < limit
        );
        const ended = between.filter((artifact) =>
          certainDeletions(artifact).some(({ end }) => end < keeper.earliestCommit)
        );
        const isGranted = (grants.get(missing.artifactId) ?? []).some((grant) =>
          grant.entry.end < keeper.earliestCommit &&
          !grant.possibleEnds.some(({ start }) => start < list.end)
        );
        return limit - version - 1 - ended.length >= keepOf(keeper) &&
          (keeper.registered.request["end_grants"] === true || !isGranted);
      });
    }).map(({ commits }) => ({
      rule: "a version was ended that keep_versions keeps",
      entries: [...commits, list],
    }))
  );
};

/** A version that was never granted is not listed when so many newer ones were kept. */
export const keepEndsTheRest: Rule = (history) => {
  const granted = new Set(
    entriesOf(history, "/agent-artifacts/grant").filter(mayHappen)
      .map(({ request }) => request["artifact_id"]),
  );
  const standing = standingIn(history);
  return listingsIn(history).flatMap(({ list, shown, artifacts, versions }) =>
    artifacts.filter(({ artifactId }) => shown.has(artifactId) && !granted.has(artifactId))
      .filter((old) => !standing.some((one) => one.mayGrant(old, list)))
      .flatMap((old) => {
        const version = versions.get(old.artifactId)!;
        const keeper = artifacts.find((other) =>
          other.registered.request["keep_versions"] !== undefined &&
          other.certainCommit < list.start && versions.get(other.artifactId)! > version &&
          artifacts.filter(({ artifactId, deletions }) =>
              versions.get(artifactId)! > version &&
              versions.get(artifactId)! < versions.get(other.artifactId)! &&
              !deletions.some(({ start }) => start < other.certainCommit)
            ).length >= keepOf(other)
        );
        const rule = "a version beyond keep_versions stays";
        return keeper === undefined
          ? []
          : [{ rule, entries: [...old.commits, ...keeper.commits, list] }];
      })
  );
};

function keepOf({ registered }: KnownArtifact): number {
  return Number(registered.request["keep_versions"]);
}

function listingsIn(history: readonly Entry[]): Listing[] {
  const versions = versionsOf(history);
  const names = Map.groupBy(
    [...knownArtifacts(history).values()].filter(({ artifactId }) => versions.has(artifactId)),
    ({ owner, key }) => `${owner} ${key}`,
  );
  return entriesOf(history, "/agent-artifacts/versions").filter((list) =>
    didHappen(list) && list.answer!["next_cursor"] === null &&
    list.request["cursor"] === undefined &&
    (list.request["agent_id"] ?? list.agent) === list.agent
  ).map((list) => ({
    list,
    shown: new Set(
      (list.answer!["versions"] as JsonObject[]).map(({ artifact_id }) => String(artifact_id)),
    ),
    artifacts: names.get(`${list.agent} ${list.request["key"]}`) ?? [],
    versions,
  }));
}
