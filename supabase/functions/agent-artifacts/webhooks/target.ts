/** Where a webhook may lead: to the public internet. */
import { isPublic, resolve, urlComplaint } from "../../_shared/identity/issuers/fetch_json.ts";
import type { ArtifactsSettings } from "../settings.ts";

type TargetSettings = Pick<ArtifactsSettings, "supabaseUrl" | "webhooksAllowHttp">;

/** What is wrong with the URL of a webhook; null: nothing. Does not look up its name. */
export function targetComplaint(text: string, settings: TargetSettings): string | null {
  if (settings.webhooksAllowHttp && text.startsWith("http:")) {
    // Only for a service that itself runs on loopback, as the local stack does.
    const allowLoopback = new URL(settings.supabaseUrl).hostname === "127.0.0.1";
    if (allowLoopback && urlComplaint(text, { allowLoopback, allowQuery: true }) === null) {
      return null;
    }
    const complaint = urlComplaint(text.replace("http:", "https:"), {
      allowLoopback: false,
      allowQuery: true,
    });
    return complaint?.replace("https:", "http:") ?? null;
  }
  return urlComplaint(text, { allowLoopback: false, allowQuery: true });
}

/**
 * Whether every address of the URL's name is public at this moment. The setting may have changed
 * since the webhook was created, so the URL is checked again, too.
 */
export async function isAllowedTarget(
  text: string,
  settings: TargetSettings,
  signal: AbortSignal,
): Promise<boolean> {
  if (targetComplaint(text, settings) !== null) return false;
  const { hostname } = new URL(text);
  if (hostname === "127.0.0.1") return true;
  const addresses = await resolve(hostname, signal);
  // A runtime without a resolver of its own finds none: `fetch` looks the name up.
  return addresses === null || addresses.every(isPublic);
}
