import * as z from "zod";
import { defineOperation, type Operation, type Platform } from "../../_shared/operation.ts";
import { type Artifact, artifact, artifactId } from "../fields.ts";

export function createOperation({ callDatabase }: Platform): Operation {
  return defineOperation({
    summary: "End an artifact, and with it its grants.",
    access: "the owner, the operator",
    request: z.object({ artifact_id: artifactId }),
    response: artifact,
    errors: ["artifact_not_found", "artifact_expired"],
    handle({ input, caller }) {
      return callDatabase<Artifact>("delete_artifact", { caller, ...input });
    },
  });
}
