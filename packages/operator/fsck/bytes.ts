import { note, type Output } from "../../command/terminal/output.ts";
import { CommandError } from "../../command/command_error.ts";
import { callAsOperator } from "../operator_call.ts";
import { pagesOf } from "../pages.ts";
import { readStoredBytes, type StoredBytes } from "./stored_bytes.ts";

interface SealedArtifact {
  readonly artifact_id: string;
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
  /** Whether an earlier check found the bytes lost. */
  readonly is_lost: boolean;
}

interface BytesOptions {
  /** The share of objects to read as a whole: 0 to 1. */
  readonly digestShare: number;
  readonly perSecond: number;
  /** Begin after this artifact. */
  readonly after: string;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  /** Whether to mark what Storage cannot read, even if it can read nothing at all. */
  readonly isBucketLost: boolean;
}

/** How many objects Storage is asked for at the same time. */
const AT_ONCE = 8;

/**
 * Asks Storage for the bytes of every artifact. Marks artifacts whose bytes are lost, and removes
 * the mark if the bytes are back. Prints a line for each, page by page. Resolves to the number of
 * artifacts whose bytes cannot be read. Throws CommandError, whose message says how to go on.
 */
export async function checkBytes(output: Output, options: BytesOptions): Promise<number> {
  const paced = paceOf(options.perSecond);
  /**
   * Artifacts that Storage fails to read, until it has read another one and so shown that it works.
   */
  let undecided: SealedArtifact[] = [];
  let [checked, faults, isReadable] = [0, 0, options.isBucketLost];
  /** Everything up to this artifact has been marked and printed. */
  let reached = options.after;
  const pages = pagesOf<SealedArtifact>("list_sealed_artifacts", { after: reached });
  const { signal } = options;
  try {
    for await (const { found, next } of pages) {
      const lost: Lost[] = [];
      const back: SealedArtifact[] = [];
      const begun = await forEachAtOnce(found, signal, async (artifact) => {
        await paced();
        const whole = artifact.is_lost || Math.random() < options.digestShare;
        // Whoever says that the bucket is lost does not wait for Storage to recover.
        const isOnce = options.isBucketLost || artifact.is_lost;
        const stored = await readStoredBytes(artifact.path, { whole, isOnce });
        if (stored.kind === "unreadable") {
          if (artifact.is_lost) lost.push([artifact, UNREADABLE]);
          else undecided.push(artifact);
          return;
        }
        if (stored.kind === "there") isReadable = true;
        const why = whatIsWrong(stored, artifact);
        if (why !== null) lost.push([artifact, why]);
        else if (artifact.is_lost) back.push(artifact);
      });
      if (isReadable) {
        lost.push(...undecided.map((artifact): Lost => [artifact, UNREADABLE]));
        undecided = [];
      }
      faults += await settle(output, lost, back);
      checked += begun;
      const isInterrupted = begun < found.length;
      if ((next !== null || isInterrupted) && undecided.length === 0) {
        reached = isInterrupted ? found[begun - 1]?.artifact_id ?? reached : next!;
        note(`${checked} artifacts checked. To go on from here: --from ${reached}`);
      }
      if (signal.aborted) break;
    }
  } catch (error) {
    if (!(error instanceof CommandError) || reached === "") throw error;
    const check = options.isBucketLost ? "--bucket-is-lost" : "--bytes";
    throw new CommandError(`${error.message} To go on: ${check} --from ${reached}`);
  }
  // Storage could read no object at all, so Storage itself fails: its disk may be missing.
  for (const artifact of undecided) await tellUnreadable(output, artifact);
  if (undecided.length > 0) {
    note("Repair Storage. If its bytes are gone for good: agentops fsck --bucket-is-lost");
  }
  return faults + undecided.length;
}

const UNREADABLE = "Storage cannot read it";

/** An artifact without its bytes, and why. */
type Lost = readonly [artifact: SealedArtifact, why: string];

/** Marks and prints the findings of a page. Resolves to the number of lost artifacts. */
async function settle(
  output: Output,
  lost: readonly Lost[],
  back: readonly SealedArtifact[],
): Promise<number> {
  const isMarked = await mark(lost.map(([artifact]) => artifact), back);
  let faults = 0;
  for (const [artifact, why] of inOrder(lost)) {
    // An unmarked artifact was deleted after the page was read.
    if (!isMarked(artifact)) continue;
    await tellLost(output, artifact, why);
    faults++;
  }
  for (const artifact of back) await tellBack(output, artifact);
  return faults;
}

/** What is wrong, in words; null: nothing. */
function whatIsWrong(stored: StoredBytes, { size, sha256 }: SealedArtifact): string | null {
  if (stored.kind !== "there") return "Storage has no such object";
  if (stored.size !== size) return `it has ${stored.size} bytes, not ${size}`;
  if (stored.sha256 !== null && stored.sha256 !== sha256) return "its SHA-256 is another one";
  return null;
}

/** Marks and unmarks artifacts. Resolves to a function that says whether one is marked as lost. */
async function mark(
  lost: readonly SealedArtifact[],
  found: readonly SealedArtifact[],
): Promise<(artifact: SealedArtifact) => boolean> {
  if (lost.length + found.length === 0) return () => false;
  const marked = await callAsOperator("mark_lost_artifacts", {
    lost_paths: lost.map(({ path }) => path),
    found_paths: found.map(({ path }) => path),
  }) as { readonly lost: readonly string[] };
  return ({ artifact_id, is_lost }) => is_lost || marked.lost.includes(artifact_id);
}

function inOrder(lost: readonly Lost[]): Lost[] {
  return lost.toSorted(([a], [b]) => a.artifact_id < b.artifact_id ? -1 : 1);
}

function tellLost(
  output: Output,
  { artifact_id, path }: SealedArtifact,
  why: string,
): Promise<void> {
  return output.value(
    { fault: "lost_bytes", artifact_id, path, why },
    () => `lost bytes: ${artifact_id} ${path}: ${why}`,
  );
}

function tellBack(output: Output, { artifact_id, path }: SealedArtifact): Promise<void> {
  return output.value(
    { recovered: "bytes", artifact_id, path },
    () => `bytes are back: ${artifact_id} ${path}`,
  );
}

function tellUnreadable(output: Output, { artifact_id, path }: SealedArtifact): Promise<void> {
  return output.value(
    { fault: "unreadable_bytes", artifact_id, path },
    () => `unreadable, not marked: ${artifact_id} ${path}: Storage could read no object at all`,
  );
}

/** Resolves when the next object may be asked for. */
function paceOf(perSecond: number): () => Promise<void> {
  let free = 0;
  return async () => {
    const now = performance.now();
    const start = Math.max(now, free);
    free = start + 1000 / perSecond;
    if (start > now) await new Promise((end) => setTimeout(end, start - now));
  };
}

/**
 * Stops at the first error, and throws it once the actions under way have ended. Also stops when
 * the signal is aborted. Resolves to the number of items for which the action was done: the first
 * ones.
 */
async function forEachAtOnce<Item>(
  items: readonly Item[],
  signal: AbortSignal,
  act: (item: Item) => Promise<void>,
): Promise<number> {
  const left = items.values();
  const errors: unknown[] = [];
  let begun = 0;
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    while (errors.length === 0 && !signal.aborted) {
      const { done, value } = left.next();
      if (done) return;
      begun++;
      await act(value).catch((error) => errors.push(error));
    }
  }));
  if (errors.length > 0) throw errors[0];
  return begun;
}
