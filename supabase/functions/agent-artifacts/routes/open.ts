import * as z from "zod";
import { defineOperation, type Operation, type Platform } from "../../_shared/operation.ts";
import { access, type GivenAccess, signAccess } from "../access.ts";
import { artifactId } from "../fields.ts";
import { createObjectStore } from "../object_store.ts";

export function createOperation({ callDatabase, settings }: Platform): Operation {
  const store = createObjectStore(settings);
  return defineOperation({
    summary: "Get a short-lived download URL by one's own credential.",
    access: "the owner, an agent with a live grant, the operator",
    request: z.object({ artifact_id: artifactId }),
    response: access,
    errors: ["artifact_not_found", "artifact_not_committed", "artifact_expired"],
    async handle({ input, caller, request }) {
      const given = await callDatabase<GivenAccess>("open_artifact", {
        caller,
        ...input,
        window_seconds: settings.artifactsFetchUrlSeconds,
      });
      return await signAccess(given, { store, request, settings });
    },
  });
}
