import type { Paths } from "../paths/paths.ts";
import { parseEndpoint } from "../paths/places/address_kinds.ts";
import type { ForwardedPeer } from "./agent/path_file.ts";
import type { Ways } from "./open_ways.ts";
import type { Network } from "../wireguard/routing/networks.ts";
import type { PathWatch } from "./path_watch.ts";
import { isInside, LOOPBACK } from "./places.ts";

/** The peers with a port. `before`: the endpoints that the kernel had before, by public key. */
export function forwardedPeers(
  { paths, forwarder }: Ways,
  { watch, before }: { readonly watch: PathWatch; readonly before: Map<string, string | null> },
): ForwardedPeer[] {
  const reports = new Map(paths.reports().map((report) => [report.publicKey, report]));
  return forwarder.publicKeys.map((publicKey) => {
    const report = reports.get(publicKey);
    return {
      publicKey,
      endpoint: `${LOOPBACK}${forwarder.portOf(publicKey)}`,
      via: watch.works(publicKey) ? report?.via ?? "none" : "none",
      outer: report?.endpoint ?? null,
      before: before.get(publicKey) ?? null,
    };
  });
}

/**
 * This host's endpoints outside of the tunnel: the service refuses those inside. `inside`: the
 * prefixes of the mesh; none while they are unknown.
 */
export function outerEndpoints(paths: Paths, inside: readonly Network[]): string[] {
  if (inside.length === 0) return [];
  return paths.endpoints().filter((text) => !isInside(parseEndpoint(text)!.host, inside));
}
