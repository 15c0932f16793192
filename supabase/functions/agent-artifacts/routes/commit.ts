import * as z from "zod";
import { ServiceError } from "../../_shared/request/errors.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import {
  digestObject,
  type DigestOptions,
  type Observation,
  type PartialObservation,
  type Progress,
} from "../storage/digest.ts";
import { type Artifact, artifact, artifactId, sha256, uncommitted } from "../fields.ts";
import { createObjectStore, ObjectGone, type ObjectStore } from "../storage/object_store.ts";
import type { ArtifactsSettings } from "../settings.ts";

/** How long a commit excludes others, and so the longest wait after a crash. */
const LEASE_SECONDS = 60;

/** Verification stops before its lease ends: without the lease it cannot decide anything. */
const VERIFY_DEADLINE_MILLISECONDS = 50_000;

/** How long one call reads, however slow Storage is. The next call goes on from there. */
const READ_MILLISECONDS_PER_CALL = 25_000;

/** How long to wait before asking again whether Storage has moved an upload. */
const MOVE_RETRY_SECONDS = 5;

/** What the database is told of an object that has lost its bytes. It matches no artifact. */
const NO_BYTES: Observation = { complete: true, size: 0, sha256: null };

type Begun =
  | { readonly step: "done"; readonly artifact: Artifact }
  | { readonly step: "moving"; readonly artifact: Artifact }
  | Verification;

interface Released {
  /** Null if there is nothing at the path of the upload. */
  readonly upload_version: string | null;
}

interface Verification {
  readonly step: "verify";
  readonly lease_token: string;
  readonly incoming_path: string | null;
  readonly sealed_path: string;
  readonly size: number;
  readonly object: DigestOptions["known"];
  readonly progress: Progress | null;
}

type Verdict =
  | { readonly verdict: "committed"; readonly artifact: Artifact }
  | {
    readonly verdict: "size_mismatch" | "checksum_mismatch";
    readonly expected: number | string;
    readonly actual: number | string;
  };

const verifyingArtifact = artifact.extend({
  ...uncommitted,
  state: z.literal("verifying").meta({ description: "Send the same request again." }),
  verified_bytes: z.int().min(0)
    .meta({ description: "How many bytes have been verified so far.", examples: [32_768] }),
}).meta({ id: "VerifyingArtifact" });

export function createOperation(
  { callDatabase, settings }: Platform<ArtifactsSettings>,
): Operation {
  const store = createObjectStore(settings);
  return defineOperation({
    summary: "Verify the uploaded bytes and make them the artifact's final content.",
    description: "A large file takes several calls: send the same request again as long as the " +
      "answer is 202. `verified_bytes` is 0 while Storage is still moving the file. " +
      "If the size or the digest is wrong, the bytes are deleted and the artifact stays " +
      "`pending`: PUT the right bytes to its `upload_url` until that expires.",
    tag: "Artifacts",
    callers: "the owner",
    effect: "replaces",
    identification: "required",
    request: z.strictObject({ artifact_id: artifactId, sha256 }),
    response: artifact,
    accepted: verifyingArtifact,
    errors: [
      "artifact_not_found",
      "upload_missing",
      "already_committed",
      "commit_in_progress",
      "artifact_expired",
      "size_mismatch",
      "checksum_mismatch",
    ],
    async handle({ input, caller }) {
      const begun = await callDatabase<Begun>("begin_commit", {
        caller,
        ...input,
        lease_seconds: LEASE_SECONDS,
      });
      if (begun.step === "done") return begun.artifact;
      if (begun.step === "moving") return stillMoving(begun.artifact);

      const signal = AbortSignal.timeout(VERIFY_DEADLINE_MILLISECONDS);
      const { incoming_path, sealed_path } = begun;
      const lease = { artifact_id: input.artifact_id, lease_token: begun.lease_token };

      /**
       * Releases the lease if a step fails, so that the next commit need not wait until the lease
       * ends. If the release fails too, that is not reported. No harm is done: without the lease,
       * nothing that this commit still has under way can decide anything.
       */
      async function orRelease<Result>(step: Promise<Result>): Promise<Result> {
        try {
          return await step;
        } catch (error) {
          await callDatabase("release_commit", lease).catch(() => {});
          throw error;
        }
      }

      // Move the upload to a path that no URL was ever signed for, so that its bytes cannot change.
      if (incoming_path !== null) {
        const outcome = await orRelease(store.move(incoming_path, sealed_path));
        if (outcome === "unknown") {
          return stillMoving(await callDatabase<Artifact>("leave_move", lease));
        }
        if (outcome === "nothing there") {
          const released = await callDatabase<Released>("release_commit", lease);
          if (released.upload_version !== begun.object.version) throw movedAway();
          // Storage has the upload's row, not its bytes. The row would make it refuse the next PUT.
          await store.remove([incoming_path]);
          throw lostUpload();
        }
      }

      const observed = await orRelease(observe(store, begun, { settings, signal }));
      if (!observed.complete) {
        const { complete: _, ...progress } = observed;
        const saved = await orRelease(
          callDatabase<Artifact>("save_commit_progress", { ...lease, ...progress }),
        );
        return stillVerifying(saved, {
          verifiedBytes: progress.verified_bytes,
          retryAfterSeconds: 0,
        });
      }
      const verdict = await orRelease(callDatabase<Verdict>("finish_commit", {
        caller,
        ...lease,
        expected_sha256: input.sha256,
        observed_size: observed.size,
        observed_sha256: observed.sha256,
      }));
      if (verdict.verdict === "committed") return verdict.artifact;

      // The verdict is final, and the database will not use this object again, so it is deleted. If
      // that fails, retention deletes it later. The answer is the same either way.
      await store.remove([sealed_path]).catch(() => {});
      if (observed === NO_BYTES) throw lostUpload();
      throw new ServiceError(verdict.verdict, {
        details: { expected: verdict.expected, actual: verdict.actual },
      });
    },
  });
}

/** 202: some bytes are not verified yet. The same request, sent again, continues with them. */
function stillVerifying(
  artifact: Artifact,
  { verifiedBytes, retryAfterSeconds }: { verifiedBytes: number; retryAfterSeconds: number },
): Response {
  return Response.json(
    { ...artifact, state: "verifying", verified_bytes: verifiedBytes },
    { status: 202, headers: { "retry-after": String(retryAfterSeconds) } },
  );
}

function stillMoving(artifact: Artifact): Response {
  return stillVerifying(artifact, { verifiedBytes: 0, retryAfterSeconds: MOVE_RETRY_SECONDS });
}

/** Reads the object at the sealed path. Returns NO_BYTES if there is nothing that can be read. */
async function observe(
  store: ObjectStore,
  { incoming_path, sealed_path, size, object, progress }: Verification,
  { settings, signal }: { readonly settings: ArtifactsSettings; readonly signal: AbortSignal },
): Promise<Observation | PartialObservation> {
  try {
    return await digestObject(store, sealed_path, {
      expectedSize: size,
      known: object,
      isJustMoved: incoming_path !== null,
      progress,
      maxBytesPerCall: settings.artifactsCommitBytesPerCall,
      maxMillisecondsPerCall: READ_MILLISECONDS_PER_CALL,
      signal,
    });
  } catch (error) {
    if (error instanceof ObjectGone) return NO_BYTES;
    throw error;
  }
}

/** An earlier commit's move has succeeded after all. The next commit finds the sealed object. */
function movedAway(): ServiceError {
  return new ServiceError("upstream_unavailable", {
    cause: new Error("the upload was moved away"),
  });
}

function lostUpload(): ServiceError {
  return new ServiceError("upload_missing", {
    message:
      "Storage has lost the uploaded bytes. PUT them to `upload_url` again, then commit. If that URL has expired, start again with /register.",
  });
}
