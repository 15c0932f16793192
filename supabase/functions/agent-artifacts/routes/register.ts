import * as z from "zod";
import { ServiceError } from "../../_shared/errors.ts";
import { defineOperation, type Operation, type Platform } from "../../_shared/operation.ts";
import { publicUrl } from "../../_shared/public_origin.ts";
import { newIdentifier } from "../../_shared/secrets.ts";
import { type Artifact, artifact, key, mime, owner } from "../fields.ts";
import { createObjectStore } from "../object_store.ts";

export function createOperation({ callDatabase, settings }: Platform): Operation {
  const store = createObjectStore(settings);
  const request = z.object({
    agent_id: owner,
    key,
    mime,
    size: z.int().min(0).max(settings.artifactsMaxSizeBytes).meta({ description: "In bytes." }),
    ttl_days: z.int().min(1).max(settings.artifactsMaxTtlDays),
  });
  const response = artifact.extend({
    upload_url: z.url().meta({ description: "PUT the bytes here; no credential is needed." }),
    upload_expires_at: z.string(),
  });

  return defineOperation({
    summary: "Register a file under a key and get the URL to PUT its bytes to.",
    access: "the agent itself, the operator",
    request,
    response,
    errors: ["quota_exceeded", "limit_exceeded"],
    async handle({ input, caller, request }) {
      const artifactId = newIdentifier("art_");
      // Side by side: a URL that was signed for a row that is then refused is known to nobody.
      const [registered, upload] = await Promise.allSettled([
        callDatabase<Artifact>("register_artifact", {
          caller,
          artifact_id: artifactId,
          ...input,
          quota_bytes: settings.artifactsQuotaBytes,
          max_pending: settings.artifactsMaxPending,
        }),
        store.signUpload(`incoming/${artifactId}`),
      ]);
      if (registered.status === "fulfilled" && upload.status === "fulfilled") {
        return {
          ...registered.value,
          upload_url: publicUrl(upload.value.url, request, settings),
          upload_expires_at: upload.value.expiresAt.toISOString(),
        };
      }
      if (registered.status === "fulfilled" || isUnavailable(registered.reason)) {
        // A row that nobody was told of would count against the agent's limits until it is swept.
        await callDatabase("discard_registration", { caller, artifact_id: artifactId })
          .catch(() => {});
      }
      throw registered.status === "rejected"
        ? registered.reason
        : (upload as PromiseRejectedResult).reason;
    },
  });
}

/** Whether it is open what became of a call. */
function isUnavailable(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "upstream_unavailable";
}
