import type { Names } from "../places/names.ts";
import type { Address } from "../stun/address.ts";
import { type IceServer, parseServerUrl, serverUrls } from "./ice_servers.ts";

/**
 * The servers to ask by UDP for this side's public address. A TURN server is a STUN server, too.
 */
export function stunPlaces(
  servers: readonly IceServer[],
  { stunServers, names }: { readonly stunServers: readonly string[]; readonly names: Names },
): Address[] {
  const urls = [...stunServers.map(parseServerUrl), ...serverUrls(servers)];
  return urls.flatMap((server) =>
    server?.transport !== "udp"
      ? []
      : names.addressesOf(server.host).map((address) => ({ address, port: server.port }))
  );
}

/** The servers' own addresses, at which their relayed addresses are likely to be. */
export function turnAddresses(servers: readonly IceServer[], names: Names): string[] {
  return serverUrls(servers).filter(({ isTurn }) => isTurn)
    .flatMap(({ host }) => names.addressesOf(host));
}
