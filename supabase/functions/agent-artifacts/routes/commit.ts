import * as z from "zod";
import { ServiceError } from "../../_shared/errors.ts";
import { defineOperation, type Operation, type Platform } from "../../_shared/operation.ts";
import type { Settings } from "../../_shared/settings.ts";
import {
  digestObject,
  type Observation,
  type PartialObservation,
  type Progress,
} from "../digest.ts";
import { type Artifact, artifact, artifactId, sha256 } from "../fields.ts";
import { createObjectStore, type ObjectStore } from "../object_store.ts";

/** How long a commit keeps others out; after a crash, also how long the next one waits at most. */
const LEASE_SECONDS = 60;

/** A verifier stops itself well before its lease ends, so that what it observed is still its own to decide on. */
const VERIFY_DEADLINE_MILLISECONDS = 50_000;

/** Reading goes on no longer than this in one call, however slow Storage is; the next call goes on from there. */
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
  readonly progress: Progress | null;
}

type Verdict =
  | { readonly verdict: "committed"; readonly artifact: Artifact }
  | {
    readonly verdict: "size_mismatch" | "checksum_mismatch";
    readonly expected: number | string;
    readonly actual: number | string;
  };

export function createOperation({ callDatabase, settings }: Platform): Operation {
  const store = createObjectStore(settings);
  return defineOperation({
    summary: "Verify the uploaded bytes and make them the artifact's content, for good.",
    access: "the owner, the operator",
    request: z.object({ artifact_id: artifactId, sha256 }),
    response: artifact,
    accepted: artifact.extend({ state: z.literal("verifying"), verified_bytes: z.int() }),
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
        // Spares the next commit the wait for the lease's end, no more: whatever this one still had under way decides
        // nothing without the lease. So its own failure is nothing to report.
        await callDatabase("release_commit", lease).catch(() => {});
        throw error;
      }
      if (verdict.verdict === "committed") return verdict.artifact;

      // The database has decided, and will not take this object up again: now it may go. If it cannot go now, it
      // is a dead object that retention removes, and the answer stays the same.
      await store.remove([begun.sealed_path]).catch(() => {});
      throw new ServiceError(verdict.verdict, {
        details: { expected: verdict.expected, actual: verdict.actual },
      });
    },
  });
}

/** 202: not all bytes are verified yet, and the same request sent again goes on. */
function stillVerifying(saved: Artifact, verifiedBytes: number): Response {
  return Response.json(
    { ...saved, state: "verifying", verified_bytes: verifiedBytes },
    { status: 202, headers: { "retry-after": "0" } },
  );
}

/**
 * Moves the upload out of the reach of its URL, to a path for which none was ever signed, and only there reads it:
 * what is observed cannot change any more.
 */
async function sealAndDigest(
  store: ObjectStore,
  { incoming_path, sealed_path, size, progress }: Verification,
  settings: Settings,
): Promise<Observation | PartialObservation> {
  const signal = AbortSignal.timeout(VERIFY_DEADLINE_MILLISECONDS);
  if (incoming_path !== null && !await store.move(incoming_path, sealed_path)) {
    // A move of an earlier attempt, given up on here, happened there after all: the next attempt finds its result.
    throw new ServiceError("upstream_unavailable", {
      cause: new Error("the upload was moved away"),
    });
  }
  const observed = await digestObject(store, sealed_path, {
    expectedSize: size,
    progress,
    maxBytesPerCall: settings.artifactsCommitBytesPerCall,
    maxMillisecondsPerCall: READ_MILLISECONDS_PER_CALL,
    signal,
  });
  if (observed === null) {
    throw new ServiceError("upstream_unavailable", { cause: new Error("sealed object is gone") });
  }
  return observed;
}
