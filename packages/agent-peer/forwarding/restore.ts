import { kindOf, parseEndpoint } from "../paths/places/address_kinds.ts";
import { localAddresses } from "../paths/places/local_addresses.ts";
import type { Kernel } from "./kernel.ts";
import { isLoopback } from "./places.ts";
import type { ForwardedPeer } from "./agent/path_file.ts";

/**
 * Gives peers whose endpoint is a port of this program the endpoint that they registered, or the
 * one they had before. If a peer has neither, its endpoint stays: WireGuard cannot remove one.
 */
export async function restoreEndpoints(
  kernel: Kernel,
  { forwarded, registered }: {
    readonly forwarded: readonly ForwardedPeer[];
    readonly registered: (publicKey: string) => readonly string[];
  },
): Promise<void> {
  if (forwarded.length === 0) return;
  const state = await kernel.state().catch(() => null);
  for (const { publicKey, endpoint } of state?.peers ?? []) {
    const known = forwarded.find((peer) => peer.publicKey === publicKey);
    if (known === undefined || !isLoopback(endpoint)) continue;
    const own = registered(publicKey).find(needsNoLookup) ?? known.before;
    if (own !== null) await kernel.setEndpoint(publicKey, own).catch(() => {});
  }
}

/** Whether the endpoint is a public address, and not one of this host. The agent looks up names. */
function needsNoLookup(endpoint: string): boolean {
  const parsed = parseEndpoint(endpoint);
  return parsed !== null && kindOf(parsed.host) === "public" &&
    !localAddresses().includes(parsed.host);
}
