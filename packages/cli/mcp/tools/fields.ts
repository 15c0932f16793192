/** Input fields that several tools share. The service checks the values. */
import * as z from "zod";
import type { NamedArtifact } from "../../../agent-files/transfer/target.ts";
import { UsageError } from "../../../command/usage_error.ts";

export const path: z.ZodString = z.string().min(1)
  .meta({ description: "Inside this server's folder." });

export const agents: z.ZodArray<z.ZodString> = z.array(z.string().min(1)).min(1).max(
  100,
);

export const tags: z.ZodOptional<z.ZodArray<z.ZodString>> = z.array(z.string().min(1))
  .min(1).max(32).optional().meta({
    description: "Such as tag:builder.",
  });

export const waitSeconds: z.ZodDefault<z.ZodNumber> = z.number().int().min(0)
  .max(50).default(0)
  .meta({ description: "If nothing is new yet." });

/** Names one artifact, by its id or its key. */
export const artifactFields: ArtifactFields = {
  artifact_id: z.string().min(1).optional(),
  key: z.string().min(1).optional()
    .meta({
      description: "Instead of artifact_id.",
    }),
};

interface ArtifactFields {
  readonly artifact_id: z.ZodOptional<z.ZodString>;
  readonly key: z.ZodOptional<z.ZodString>;
}

export function artifactOf(
  { artifact_id, key, from_agent }: {
    readonly artifact_id?: string | undefined;
    readonly key?: string | undefined;
    readonly from_agent?: string | undefined;
  },
): NamedArtifact {
  if (artifact_id !== undefined && key === undefined) {
    return { artifactId: artifact_id };
  }
  if (key === undefined || artifact_id !== undefined) {
    throw new UsageError("Give either artifact_id or key.");
  }
  return { key, ...(from_agent !== undefined && { agentId: from_agent }) };
}
