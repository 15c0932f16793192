/** Rules of versions: their numbers rise, and what a number names stays what it is. */
import type { JsonObject } from "../../../conformance/client.ts";
import { didHappen, entriesOf, type Entry, type Rule, type Violation } from "../../history.ts";
import { keepersOf, type KnownArtifact, knownArtifacts, mayBeDeleted } from "../artifacts.ts";
import { knownGrants } from "../grants.ts";

/** What one answer shows of a version. */
interface Seen {
  readonly entry: Entry;
  readonly artifactId: string;
  readonly key: string;
  readonly version: number;
  readonly sha256: unknown;
  /** Null: the answer does not tell, and its registration got no answer. */
  readonly owner: string | null;
  readonly grantId: string | null;
}

/** Where an answer has versions; in the others, it is one itself. */
const LISTS: Readonly<Record<string, string>> = {
  "/list": "artifacts",
  "/versions": "versions",
  "/inbox": "grants",
  "/inbox/take": "tasks",
};
const SINGLE = ["/commit", "/open", "/fetch"];

/** A number of a name is given to one artifact, and an artifact keeps its number and its bytes. */
export const versionsNeverChange: Rule = (history) => {
  const seen = seenIn(history);
  const numbered = seen.filter(({ owner }) => owner !== null);
  return [
    ...differing(seen, ({ artifactId }) => artifactId, ({ version }) => version)
      .map((entries) => ({ rule: "an artifact has two versions", entries })),
    ...differing(
      numbered,
      ({ owner, key, version }) => `${owner} ${key} ${version}`,
      ({ artifactId }) => artifactId,
    ).map((entries) => ({ rule: "two artifacts have one version", entries })),
    ...differing(seen, ({ artifactId }) => artifactId, ({ sha256 }) => sha256)
      .map((entries) => ({ rule: "the bytes of a version have changed", entries })),
    ...entriesOf(history, "/agent-artifacts/commit").filter((entry) =>
      didHappen(entry) && entry.answer!["version"] !== undefined &&
      entry.answer!["sha256"] !== entry.request["sha256"]
    ).map((entry) => ({ rule: "the bytes of a version have changed", entries: [entry] })),
  ];
};

/** A grant shows the same version to its grantee each time. */
export const grantsStayOnTheirVersion: Rule = (history) =>
  differing(
    seenIn(history).filter(({ grantId }) => grantId !== null),
    ({ grantId }) => grantId!,
    ({ artifactId }) => artifactId,
  ).map((entries) => ({ rule: "a grant shows another version than before", entries }));

/** A commit gets a higher version than those that were answered before it began. */
export const versionsOnlyRise: Rule = (history) => {
  const versions = versionsOf(history);
  const names = Map.groupBy(
    knownArtifacts(history).values(),
    ({ owner, key }) => `${owner} ${key}`,
  );
  const violations: Violation[] = [];
  for (const artifacts of names.values()) {
    const known = artifacts.filter(({ artifactId }) => versions.has(artifactId));
    for (const earlier of known) {
      const later = known.find((other) =>
        other.earliestCommit > earlier.certainCommit &&
        versions.get(other.artifactId)! <= versions.get(earlier.artifactId)!
      );
      if (later === undefined) continue;
      const entries = [...earlier.commits, ...later.commits];
      violations.push({ rule: "a later commit has no higher version", entries });
    }
  }
  return violations;
};

/** Who reads the current version of a name reads none older than what was committed or read. */
export const currentNeverGoesBack: Rule = (history) => {
  const current = seenIn(history).filter(({ entry, owner }) =>
    owner !== null && (
      ["/agent-artifacts/commit", "/agent-artifacts/list"].includes(entry.operation) ||
      entry.operation === "/agent-artifacts/open" && isOfCurrent(entry)
    )
  );
  return [...Map.groupBy(current, ({ owner, key }) => `${owner} ${key}`).values()]
    .flatMap((seen) => {
      const byEnd = seen.toSorted((one, other) => one.entry.end - other.entry.end);
      const violations: Violation[] = [];
      let highest: Seen | null = null;
      let next = 0;
      for (const read of seen.toSorted((one, other) => one.entry.start - other.entry.start)) {
        for (; next < byEnd.length && byEnd[next]!.entry.end < read.entry.start; next += 1) {
          if (byEnd[next]!.version > (highest?.version ?? 0)) highest = byEnd[next]!;
        }
        // A commit that is repeated is answered with its own version.
        const isRead = read.entry.operation !== "/agent-artifacts/commit";
        if (isRead && highest !== null && read.version < highest.version) {
          const entries = [highest.entry, read.entry];
          violations.push({ rule: "an older version is current again", entries });
        }
      }
      return violations;
    });
};

/** /open with a version has that version of that name. */
export const openedIsTheVersion: Rule = (history) => {
  const artifacts = knownArtifacts(history);
  return entriesOf(history, "/agent-artifacts/open").filter((opened) => {
    const { key, version, agent_id } = opened.request;
    if (!didHappen(opened) || key === undefined) return false;
    const owner = artifacts.get(String(opened.answer!["artifact_id"]))?.owner;
    return opened.answer!["key"] !== key ||
      version !== undefined && opened.answer!["version"] !== version ||
      owner !== undefined && owner !== (agent_id ?? opened.agent);
  }).map((entry) => ({ rule: "another version was opened", entries: [entry] }));
};

/** Who has a grant of a version can open that version, whatever is committed after it. */
export const readersKeepTheirVersion: Rule = (history) => {
  const artifacts = knownArtifacts(history);
  const versions = versionsOf(history);
  const byName = new Map(
    [...artifacts.values()].filter(({ artifactId }) => versions.has(artifactId))
      .map((artifact) => [
        `${artifact.owner} ${artifact.key} ${versions.get(artifact.artifactId)}`,
        artifact,
      ]),
  );
  const grants = Map.groupBy(knownGrants(history), ({ artifactId }) => artifactId);
  return entriesOf(history, "/agent-artifacts/open").flatMap((opened) => {
    if (![404, 410].includes(opened.status)) return [];
    const { artifact_id, agent_id, key, version } = opened.request;
    const artifact = artifacts.get(String(artifact_id)) ??
      byName.get(`${agent_id ?? opened.agent} ${key} ${version}`);
    if (artifact === undefined || mayHaveEnded(artifacts, artifact, opened)) return [];
    const grant = grants.get(artifact.artifactId)?.find(({ entry, toAgent, possibleEnds }) =>
      toAgent === opened.agent && entry.end < opened.start &&
      !possibleEnds.some(({ start }) => start < opened.end)
    );
    return grant === undefined
      ? []
      : [{ rule: "a granted version is lost to its reader", entries: [grant.entry, opened] }];
  });
};

/** The version of each artifact, where an answer tells it. */
export function versionsOf(history: readonly Entry[]): Map<string, number> {
  return new Map(seenIn(history).map(({ artifactId, version }) => [artifactId, version]));
}

/** Whether an artifact may have ended before an answer, although somebody may open it. */
export function mayHaveEnded(
  artifacts: ReadonlyMap<string, KnownArtifact>,
  artifact: KnownArtifact,
  before: Entry,
): boolean {
  return mayBeDeleted(artifact, artifact.key, before) ||
    keepersOf(artifacts.values(), artifact).some(({ registered, earliestCommit }) =>
      registered.request["end_grants"] === true && earliestCommit < before.end
    );
}

function isOfCurrent({ request }: Entry): boolean {
  return request["key"] !== undefined && request["version"] === undefined;
}

const remembered = new WeakMap<readonly Entry[], Seen[]>();

function seenIn(history: readonly Entry[]): Seen[] {
  const known = remembered.get(history);
  if (known !== undefined) return known;
  const owners = new Map(
    entriesOf(history, "/agent-artifacts/register").filter(didHappen)
      .map(({ agent, answer }) => [answer!["artifact_id"], agent]),
  );
  const seen = history.filter(didHappen).flatMap((entry) =>
    shownIn(entry).filter(({ version }) => typeof version === "number").map((shown): Seen => ({
      entry,
      artifactId: String(shown["artifact_id"]),
      key: String(shown["key"]),
      version: Number(shown["version"]),
      sha256: shown["sha256"],
      owner: (shown["agent_id"] ?? shown["from_agent"] ?? owners.get(shown["artifact_id"]!) ??
        null) as string | null,
      grantId: (shown["grant_id"] ?? null) as string | null,
    }))
  );
  remembered.set(history, seen);
  return seen;
}

function shownIn({ operation, answer }: Entry): JsonObject[] {
  const path = operation.replace("/agent-artifacts", "");
  const list = LISTS[path];
  if (list !== undefined) return answer![list] as JsonObject[];
  return SINGLE.includes(path) ? [answer!] : [];
}

/** Of what is the same by `keyOf`, the first two entries that differ by `valueOf`. */
function differing(
  seen: readonly Seen[],
  keyOf: (seen: Seen) => string,
  valueOf: (seen: Seen) => unknown,
): Entry[][] {
  const first = new Map<string, Seen>();
  const found = new Map<string, Entry[]>();
  for (const one of seen) {
    const key = keyOf(one);
    const other = first.get(key);
    if (other === undefined) first.set(key, one);
    else if (valueOf(other) !== valueOf(one)) found.set(key, [other.entry, one.entry]);
  }
  return [...found.values()];
}
