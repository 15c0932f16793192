import * as z from "zod";
import { defineOperation, type Operation, type Platform } from "../../_shared/operation.ts";
import { type AllowedDownload, download, makeDownload } from "../download.ts";
import { artifactId } from "../fields.ts";
import { createObjectStore } from "../object_store.ts";
import type { ArtifactsSettings } from "../settings.ts";

export function createOperation(
  { callDatabase, settings }: Platform<ArtifactsSettings>,
): Operation {
  const store = createObjectStore(settings);
  return defineOperation({
    summary: "Get a short-lived download URL by one's own credential.",
    tag: "Artifacts",
    callers: "the owner, an agent with a live grant",
    effect: "reads",
    identification: "required",
    request: z.object({ artifact_id: artifactId }),
    response: download,
    errors: ["artifact_not_found", "artifact_not_committed", "artifact_expired"],
    async handle({ input, caller, request }) {
      const allowed = await callDatabase<AllowedDownload>("open_artifact", {
        caller,
        ...input,
        window_seconds: settings.artifactsFetchUrlSeconds,
      });
      return await makeDownload(allowed, { store, request, settings });
    },
  });
}
