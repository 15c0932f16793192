import * as z from "zod";
import { publicUrl } from "../_shared/public_origin.ts";
import type { PlatformSettings } from "../_shared/settings/platform.ts";
import { sentArtifactId, sentExpiry, sentKey, sentMime, sentSha256, sentSize } from "./fields.ts";
import type { ObjectStore } from "./storage/object_store.ts";

/** What /fetch and /open answer with. */
export const download = z.object({
  url: z.url().meta({
    description: "GET the bytes here until `expires_at`; supports Range. No credential is needed.",
    examples: [
      "https://project.supabase.co/storage/v1/object/sign/agent-artifacts/sealed/art?token=the-token&download=july.pdf",
    ],
  }),
  expires_at: sentExpiry.meta({ examples: ["2026-01-31T09:31:00.000Z"] }),
  artifact_id: sentArtifactId,
  key: sentKey,
  mime: sentMime,
  size: sentSize,
  sha256: sentSha256,
}).meta({ id: "Download" });

/** What the SQL functions behind /fetch and /open return. */
export interface AllowedDownload extends Omit<z.output<typeof download>, "url" | "expires_at"> {
  readonly sealed_path: string;
  readonly window_seconds: number;
}

/** Signs the URL of a download that the database has allowed. Throws upstream_unavailable. */
export async function makeDownload(
  { sealed_path, window_seconds, ...described }: AllowedDownload,
  { store, request, settings }: {
    readonly store: ObjectStore;
    readonly request: Request;
    readonly settings: PlatformSettings;
  },
): Promise<z.output<typeof download>> {
  const fileName = described.key.slice(described.key.lastIndexOf("/") + 1);
  const signed = await store.signDownload(sealed_path, { seconds: window_seconds, fileName });
  return {
    url: publicUrl(signed.url, request, settings),
    expires_at: signed.expiresAt.toISOString(),
    ...described,
  };
}
