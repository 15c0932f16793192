import * as z from "zod";
import { ServiceError } from "../../_shared/request/errors.ts";
import { sentTimestamp, subject } from "../../_shared/request/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import { publicUrl } from "../../_shared/request/reading/public_origin.ts";
import { newIdentifier } from "../../_shared/identity/secrets.ts";
import { type Artifact, artifact, key, mime, uncommitted } from "../fields.ts";
import { metadata } from "../metadata.ts";
import { BUCKET, incomingPath } from "../storage/object_paths.ts";
import { createObjectStore } from "../storage/object_store.ts";
import type { ArtifactsSettings } from "../settings.ts";

const KEEP_RULE = "Must be a whole number from 1 to 1000.";

const response = artifact.extend({
  ...uncommitted,
  state: artifact.shape.state
    .meta({ description: "`pending` until it is committed.", examples: ["pending"] }),
  upload_url: z.url().meta({
    description: "PUT the bytes to this URL until `upload_expires_at`. It needs no credential.",
    examples: [
      "https://project.supabase.co/storage/v1/object/upload/sign/agent-artifacts/incoming/art?token=the-token",
    ],
  }),
  upload: z.object({
    bucket: z.string().meta({ description: "The bucket in Storage.", examples: [BUCKET] }),
    path: z.string().meta({
      description: "Where the upload goes in the bucket.",
      examples: ["incoming/art_6f1c0a5be2d94c738e9b1d2f3a4c5b60"],
    }),
    token: z.string()
      .meta({ description: "Storage's token for this upload.", examples: ["the-token"] }),
  }).meta({
    description: "The same upload for supabase-js: " +
      "`storage.from(bucket).uploadToSignedUrl(path, token, body)`.",
  }),
  upload_expires_at: sentTimestamp.meta({
    description: "When `upload_url` stops working.",
    examples: ["2026-01-31T11:29:58.000Z"],
  }),
}).meta({ id: "RegisteredArtifact" });

export function createOperation(
  { callDatabase, settings }: Platform<ArtifactsSettings>,
): Operation {
  const store = createObjectStore(settings);
  const request = z.strictObject({
    agent_id: subject,
    key,
    mime,
    size: z.int().min(0).max(settings.artifactsMaxSizeBytes)
      .meta({ description: "The file's size in bytes.", examples: [48_213] }),
    ttl_days: z.int().min(1).max(settings.artifactsMaxTtlDays)
      .meta({ description: "How many days to keep the file after its commit.", examples: [7] }),
    metadata: metadata.optional(),
    keep_versions: z.int(KEEP_RULE).min(1, KEEP_RULE).max(1000, KEEP_RULE).optional().meta({
      description: "The commit ends superseded versions of the name beyond that many, the oldest " +
        "first. Default: all stay until they expire.",
      examples: [5],
    }),
    end_grants: z.boolean().optional().meta({
      description: "With `keep_versions`: also end versions that others may still open.",
    }),
  }).refine((input) => input.end_grants === undefined || input.keep_versions !== undefined, {
    path: ["end_grants"],
    message: "Must not be sent without keep_versions.",
    // Checked even if other fields are bad, so that one answer names all of them.
    when: () => true,
  });

  return defineOperation({
    summary: "Register a file under a name (`key`) and get the URL to upload it to.",
    description: "Several artifacts may be registered under one name: the name belongs to the " +
      "one that is committed last.",
    tag: "Artifacts",
    callers: "the agent itself",
    effect: "adds",
    identification: "required",
    request,
    response,
    errors: ["quota_exceeded", "limit_exceeded"],
    async handle({ input, caller, request }) {
      const artifactId = newIdentifier("art_");
      // In parallel: if the database refuses the row, nobody learns the URL that was signed.
      const [registered, upload] = await Promise.allSettled([
        callDatabase<Artifact>("register_artifact", {
          caller,
          artifact_id: artifactId,
          ...input,
          agent_id: input.agent_id ?? null,
          quota_bytes: settings.artifactsQuotaBytes,
          max_pending: settings.artifactsMaxPending,
          max_artifacts: settings.artifactsMaxArtifacts,
        }),
        store.signUpload(incomingPath(artifactId)),
      ]);
      if (registered.status === "fulfilled" && upload.status === "fulfilled") {
        return {
          ...registered.value,
          upload_url: publicUrl(upload.value.url, request, settings),
          upload: {
            bucket: BUCKET,
            path: incomingPath(artifactId),
            token: upload.value.url.searchParams.get("token") ?? "",
          },
          upload_expires_at: upload.value.expiresAt.toISOString(),
        };
      }
      if (registered.status === "fulfilled" || isUnavailable(registered.reason)) {
        // The caller does not know the row, which would count against its limits until a sweep.
        await callDatabase("discard_registration", { caller, artifact_id: artifactId })
          .catch(() => {});
      }
      throw registered.status === "rejected"
        ? registered.reason
        : (upload as PromiseRejectedResult).reason;
    },
  });
}

/** Whether the outcome of a call is unknown. */
function isUnavailable(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "upstream_unavailable";
}
