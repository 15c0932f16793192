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
 * The addresses where an event may be sent: those of the URL's name at this moment. Null if one of
 * them is inside a private network, or if the URL is not allowed any more: the setting may have
 * changed since the webhook was created. Throws if the name has no address.
 */
export async function allowedAddresses(
  text: string,
  settings: TargetSettings,
  signal: AbortSignal,
): Promise<readonly string[] | null> {
  if (targetComplaint(text, settings) !== null) return null;
  const { hostname } = new URL(text);
  if (hostname === "127.0.0.1") return [hostname];
  const addresses = await resolve(hostname, signal);
  if (addresses === null) throw new Error("The name has no address.");
  return addresses.every(isPublic) ? addresses : null;
}
