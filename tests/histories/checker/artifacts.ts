/** Rules of artifacts: a key has one current artifact, and committed artifacts stay. */
import {
  didHappen,
  DOWNLOAD,
  effectEnd,
  entriesOf,
  type Entry,
  groupBy,
  isRemoval,
  isWhole,
  mayHappen,
  removalsOf,
  type Rule,
  type Violation,
} from "../history.ts";

interface Listed {
  readonly artifact_id: string;
  readonly key: string;
}

/** What a history shows of one registered artifact. */
export interface KnownArtifact {
  readonly artifactId: string;
  readonly owner: string;
  readonly key: string;
  readonly registered: Entry;
  readonly commits: readonly Entry[];
  /** Requests that deleted it, or may have; those that removed its owner, too. */
  readonly deletions: readonly Entry[];
  /** The artifact cannot have been committed before this time. */
  readonly earliestCommit: number;
  /** The artifact has certainly been committed from this time on. */
  readonly certainCommit: number;
}

/** /list shows each key once, and only artifacts that can be current. */
export const oneCurrentPerKey: Rule = (history) => {
  const artifacts = knownArtifacts(history);
  const byKey = Map.groupBy(artifacts.values(), ({ owner, key }) => `${owner} ${key}`);
  const violations: Violation[] = [];
  for (const list of entriesOf(history, "/agent-artifacts/list").filter(didHappen)) {
    const listed = list.answer!["artifacts"] as unknown as Listed[];
    if (new Set(listed.map(({ key }) => key)).size < listed.length) {
      violations.push({ rule: "a list has a key twice", entries: [list] });
    }
    for (const { artifact_id } of listed) {
      const shown = artifacts.get(artifact_id);
      // The answer to its registration was lost.
      if (shown === undefined) continue;
      const deletion = certainDeletions(shown).find(({ end }) => end < list.start);
      if (deletion !== undefined) {
        violations.push({ rule: "a list shows what is deleted", entries: [deletion, list] });
      }
      if (shown.earliestCommit > list.end) {
        violations.push({ rule: "a list shows what nobody committed", entries: [list] });
      }
      const successor = byKey.get(`${shown.owner} ${shown.key}`)!.find((other) =>
        other.earliestCommit > shown.certainCommit && other.certainCommit < list.start
      );
      if (successor !== undefined) {
        const entries = [...shown.commits, ...successor.commits, list];
        violations.push({ rule: "a list shows what is superseded", entries });
      }
    }
  }
  return violations;
};

/**
 * A list contains each key with an artifact that was committed earlier, unless an artifact with
 * that key may have been deleted.
 */
export const commitsAreNotLost: Rule = (history) => {
  const artifacts = [...knownArtifacts(history).values()];
  const byOwner = Map.groupBy(artifacts, ({ owner }) => owner);
  const violations: Violation[] = [];
  for (const list of entriesOf(history, "/agent-artifacts/list").filter(didHappen)) {
    // A missing key may be on a further page.
    if (list.answer!["next_cursor"] !== null) continue;
    const listed = list.answer!["artifacts"] as unknown as Listed[];
    const keys = new Set(listed.map(({ key }) => key));
    const owned = byOwner.get(list.agent) ?? [];
    for (const artifact of owned) {
      const isCertain = artifact.certainCommit < list.start && !keys.has(artifact.key);
      if (!isCertain || owned.some((other) => mayBeDeleted(other, artifact.key, list))) continue;
      violations.push({ rule: "a list misses a commit", entries: [...artifact.commits, list] });
    }
  }
  return violations;
};

/** The owner can open an artifact that it committed and that no request may have deleted. */
export const committedCanBeOpened: Rule = (history) => {
  const artifacts = knownArtifacts(history);
  return entriesOf(history, "/agent-artifacts/open").flatMap((opened) => {
    const artifact = artifacts.get(String(opened.request["artifact_id"]));
    const isRefused = opened.status >= 400 && opened.status < 500;
    if (artifact === undefined || !isRefused || artifact.owner !== opened.agent) return [];
    const isCertain = artifact.certainCommit < opened.start &&
      !mayBeDeleted(artifact, artifact.key, opened) &&
      !keepersOf(artifacts.values(), artifact).some(({ earliestCommit }) =>
        earliestCommit < opened.end
      );
    return isCertain
      ? [{ rule: "a commit is lost to its owner", entries: [...artifact.commits, opened] }]
      : [];
  });
};

/** /open and /fetch lead to the committed content: its digest and its bytes. */
export const contentIsTheDigest: Rule = (history) => {
  const violations: Violation[] = [];
  const committed = new Map<unknown, unknown>();
  for (const { request, ...commit } of entriesOf(history, "/agent-artifacts/commit")) {
    if (didHappen({ request, ...commit })) committed.set(request["artifact_id"], request["sha256"]);
  }
  for (const download of entriesOf(history, DOWNLOAD).filter(didHappen)) {
    const { artifact_id, sha256 } = download.request;
    const digests = [sha256, download.answer!["sha256"], committed.get(artifact_id) ?? sha256];
    if (new Set(digests).size > 1) {
      violations.push({ rule: "the bytes are not those of the digest", entries: [download] });
    }
  }
  return violations;
};

/** The later artifacts of the name whose commit may have ended this one, by `keep_versions`. */
export function keepersOf(
  artifacts: Iterable<KnownArtifact>,
  { artifactId, owner, key }: KnownArtifact,
): KnownArtifact[] {
  return [...artifacts].filter((other) =>
    other.key === key && other.owner === owner && other.artifactId !== artifactId &&
    other.registered.request["keep_versions"] !== undefined
  );
}

/** A removal of the owner ends only what is registered when it runs. */
export function certainDeletions({ registered, deletions }: KnownArtifact): Entry[] {
  return deletions.filter((entry) =>
    didHappen(entry) && entry.start > registered.end && (isWhole(entry) || !isRemoval(entry))
  );
}

export function mayBeDeleted(
  { key, deletions }: KnownArtifact,
  wanted: string,
  before: Entry,
): boolean {
  return key === wanted && deletions.some(({ start }) => start < before.end);
}

export function knownArtifacts(history: readonly Entry[]): Map<string, KnownArtifact> {
  const byArtifact = (operation: string) =>
    groupBy(
      entriesOf(history, operation).filter(mayHappen),
      ({ request }) => String(request["artifact_id"]),
    );
  const commitsOf = byArtifact("/agent-artifacts/commit");
  const deletionsOf = byArtifact("/agent-artifacts/delete");
  const registered = entriesOf(history, "/agent-artifacts/register").filter(didHappen);
  const removals = new Map(
    [...new Set(registered.map(({ agent }) => agent))].map((agent) => [
      agent,
      removalsOf(history, agent).filter(({ request }) => request["keep_artifacts"] !== true),
    ]),
  );
  return new Map(registered.map((entry) => {
    const { agent, answer } = entry;
    const artifactId = String(answer!["artifact_id"]);
    const commits = commitsOf.get(artifactId) ?? [];
    return [artifactId, {
      artifactId,
      owner: agent,
      key: String(answer!["key"]),
      registered: entry,
      commits,
      deletions: [
        ...deletionsOf.get(artifactId) ?? [],
        ...removals.get(agent)!.filter((removal) => effectEnd(removal) > entry.start),
      ],
      earliestCommit: Math.min(...commits.map(({ start }) => start)),
      certainCommit: Math.min(...commits.map(effectEnd)),
    }];
  }));
}
