import { createHash } from "node:crypto";
import { ServiceError } from "../../_shared/request/errors.ts";
import type { PlatformSettings } from "../../_shared/request/settings/platform.ts";
import { fetchWithDeadline } from "../../_shared/data/fetch.ts";

/** The largest text that goes through a conversation, in bytes of UTF-8. */
export const MAX_TEXT_BYTES = 16 * 1024;

/** PUTs bytes to an upload URL that was made for the caller. Throws upstream_unavailable. */
export async function uploadBytes(
  uploadUrl: string,
  { bytes, mime, settings }: {
    readonly bytes: BufferSource;
    readonly mime: string;
    readonly settings: PlatformSettings;
  },
): Promise<void> {
  const response = await fetchStorage("object/upload", ownUrl(uploadUrl, settings), {
    method: "PUT",
    headers: { "content-type": mime },
    body: bytes,
  });
  await response.body?.cancel();
}

/** The text behind a download URL; null if it is no UTF-8. Throws upstream_unavailable. */
export async function downloadText(
  { url, sha256 }: { readonly url: string; readonly sha256: string },
  settings: PlatformSettings,
): Promise<string | null> {
  const response = await fetchStorage("object/download", ownUrl(url, settings), {});
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (sha256Of(bytes) !== sha256) throw unavailable("a download of other bytes");
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** In lower-case hex. */
export function sha256Of(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Replaces the origin of a signed URL: callers know it, but this function may not reach it. */
function ownUrl(url: string, { supabaseUrl }: PlatformSettings): string {
  return supabaseUrl + url.slice(new URL(url).origin.length);
}

async function fetchStorage(name: string, url: string, init: RequestInit): Promise<Response> {
  const response = await fetchWithDeadline(name, url, init).catch((cause: unknown) => {
    throw new ServiceError("upstream_unavailable", { cause });
  });
  if (response.ok) return response;
  await response.body?.cancel();
  throw unavailable(`Storage answered ${response.status}`);
}

function unavailable(reason: string): ServiceError {
  return new ServiceError("upstream_unavailable", { cause: new Error(reason) });
}
