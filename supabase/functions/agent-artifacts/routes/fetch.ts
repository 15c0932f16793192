import * as z from "zod";
import { defineOperation, type Operation, type Platform } from "../../_shared/operation.ts";
import { sha256Hex } from "../../_shared/secrets.ts";
import { type AllowedDownload, download, makeDownload } from "../download.ts";
import { grantToken } from "../fields.ts";
import { createObjectStore } from "../storage/object_store.ts";
import type { ArtifactsSettings } from "../settings.ts";

export function createOperation(
  { callDatabase, settings }: Platform<ArtifactsSettings>,
): Operation {
  const store = createObjectStore(settings);
  return defineOperation({
    summary: "Exchange a grant token for a short-lived download URL.",
    tag: "Artifacts",
    callers: "whoever has the token",
    effect: "reads",
    identification: "none",
    limitedBy: ({ grant_token }) => sha256Hex(grant_token),
    request: z.object({ grant_token: grantToken }),
    response: download,
    errors: ["grant_not_found", "grant_expired", "grant_revoked", "artifact_expired"],
    async handle({ input, caller, request }) {
      const allowed = await callDatabase<AllowedDownload>("redeem_grant_token", {
        caller,
        token_hash: sha256Hex(input.grant_token),
        window_seconds: settings.artifactsFetchUrlSeconds,
      });
      return await makeDownload(allowed, { store, request, settings });
    },
  });
}
