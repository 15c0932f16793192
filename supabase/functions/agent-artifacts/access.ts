import * as z from "zod";
import { publicUrl } from "../_shared/public_origin.ts";
import type { Settings } from "../_shared/settings.ts";
import type { ObjectStore } from "./object_store.ts";

/** What /fetch and /open answer with. */
export const access = z.object({
  url: z.url().meta({ description: "GET the bytes here, until expires_at; supports Range." }),
  expires_at: z.string(),
  artifact_id: z.string(),
  key: z.string(),
  mime: z.string(),
  size: z.int(),
  sha256: z.string(),
});

/** What the SQL functions behind /fetch and /open return. */
export interface GivenAccess extends Omit<z.output<typeof access>, "url" | "expires_at"> {
  readonly sealed_path: string;
  readonly window_seconds: number;
}

/** Signs the download URL for an access that the database has given. Throws upstream_unavailable. */
export async function signAccess(
  { sealed_path, window_seconds, ...described }: GivenAccess,
  { store, request, settings }: { store: ObjectStore; request: Request; settings: Settings },
): Promise<z.output<typeof access>> {
  const fileName = described.key.slice(described.key.lastIndexOf("/") + 1);
  const signed = await store.signDownload(sealed_path, { seconds: window_seconds, fileName });
  return {
    url: publicUrl(signed.url, request, settings),
    expires_at: signed.expiresAt.toISOString(),
    ...described,
  };
}
