import * as z from "zod";
import { ServiceError } from "../../_shared/errors.ts";
import { defineOperation, type Operation, type Platform } from "../../_shared/operation.ts";
import {
  digestObject,
  type DigestOptions,
  type Observation,
  type PartialObservation,
  type Progress,
} from "../digest.ts";
import { type Artifact, artifact, artifactId, sha256, uncommitted } from "../fields.ts";
import { createObjectStore, type ObjectStore } from "../object_store.ts";
import type { ArtifactsSettings } from "../settings.ts";

/** How long a commit keeps others out, and so the longest that the next one waits after a crash. */
const LEASE_SECONDS = 60;

/** A verifier stops itself while it still has its lease, which it needs to decide anything. */
const VERIFY_DEADLINE_MILLISECONDS = 50_000;

/** How long one call reads, however slow Storage is. The next call goes on from there. */
const READ_MILLISECONDS_PER_CALL = 25_000;

type Begun =
  | { readonly step: "done"; readonly artifact: Artifact }
  | Verification;

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
  state: z.literal("verifying"),
  verified_bytes: z.int().meta({ examples: [32_768] }),
}).meta({ id: "VerifyingArtifact" });

export function createOperation(
  { callDatabase, settings }: Platform<ArtifactsSettings>,
): Operation {
  const store = createObjectStore(settings);
  return defineOperation({
    summary: "Verify the uploaded bytes and make them the artifact's content, for good.",
    description: "A large file is verified over several calls: the answer is 202 until the last. " +
      "Where size or digest is wrong, the bytes are gone, the artifact stays `pending`, and its " +
      "`upload_url` takes a new PUT while it lasts.",
    tag: "Artifacts",
    callers: "the owner",
    effect: "replaces",
    identification: "required",
    request: z.object({ artifact_id: artifactId, sha256 }),
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

      const lease = { artifact_id: input.artifact_id, lease_token: begun.lease_token };
      let verdict: Verdict;
      try {
        const observed = await sealAndDigest(store, begun, settings);
        if (!observed.complete) {
          const { complete: _, ...progress } = observed;
          const saved = await callDatabase<Artifact>("save_commit_progress", {
            ...lease,
            ...progress,
          });
          return stillVerifying(saved, observed.verified_bytes);
        }
        verdict = await callDatabase<Verdict>("finish_commit", {
          caller,
          ...lease,
          expected_sha256: input.sha256,
          observed_size: observed.size,
          observed_sha256: observed.sha256,
        });
      } catch (error) {
        // It only spares the next commit the wait for the lease's end: without the lease, whatever
        // this one still has under way decides nothing. So a failure here is not reported.
        await callDatabase("release_commit", lease).catch(() => {});
        throw error;
      }
      if (verdict.verdict === "committed") return verdict.artifact;

      // The database has decided, and will not take this object up again: now it may go. If it
      // cannot go now, retention removes it later, and the answer stays the same.
      await store.remove([begun.sealed_path]).catch(() => {});
      throw new ServiceError(verdict.verdict, {
        details: { expected: verdict.expected, actual: verdict.actual },
      });
    },
  });
}

/** 202: some bytes are not verified yet; the same request, sent again, goes on with them. */
function stillVerifying(saved: Artifact, verifiedBytes: number): Response {
  return Response.json(
    { ...saved, state: "verifying", verified_bytes: verifiedBytes },
    { status: 202, headers: { "retry-after": "0" } },
  );
}

/**
 * Moves the upload to a path for which no URL was ever signed, and reads it there: what is observed
 * cannot change any more.
 */
async function sealAndDigest(
  store: ObjectStore,
  { incoming_path, sealed_path, size, object, progress }: Verification,
  settings: ArtifactsSettings,
): Promise<Observation | PartialObservation> {
  const signal = AbortSignal.timeout(VERIFY_DEADLINE_MILLISECONDS);
  if (incoming_path !== null && !await store.move(incoming_path, sealed_path)) {
    // An earlier attempt gave up on a move that Storage then made: the next one finds its result.
    throw new ServiceError("upstream_unavailable", {
      cause: new Error("the upload was moved away"),
    });
  }
  return await digestObject(store, sealed_path, {
    expectedSize: size,
    known: object,
    isJustMoved: incoming_path !== null,
    progress,
    maxBytesPerCall: settings.artifactsCommitBytesPerCall,
    maxMillisecondsPerCall: READ_MILLISECONDS_PER_CALL,
    signal,
  });
}
