import * as z from "zod";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import { artifact, artifactId } from "../fields.ts";

const deletedArtifact = artifact.extend({
  state: z.literal("deleted").meta({ description: "It was deleted." }),
})
  .meta({ id: "DeletedArtifact" });

export function createOperation({ relayDatabase }: Platform): Operation {
  return defineOperation({
    summary: "Delete an artifact and end its grants.",
    description:
      "Deleting the current artifact under a name (`key`) does not restore the one before it.",
    operationId: "deleteArtifact",
    tag: "Artifacts",
    callers: "the owner",
    effect: "replaces",
    identification: "required",
    request: z.strictObject({ artifact_id: artifactId }),
    response: deletedArtifact,
    errors: ["artifact_not_found", "artifact_expired"],
    handle({ input, caller }) {
      return relayDatabase("delete_artifact", {
        caller,
        ...input,
      });
    },
  });
}
