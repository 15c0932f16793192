import { addressBytes, masked, type Network } from "../wireguard/routing/networks.ts";

/** The prefix of endpoints that are ports of this program. */
export const LOOPBACK = "127.0.0.1:";

export function isLoopback(endpoint: string | null): boolean {
  return endpoint?.startsWith(LOOPBACK) ?? false;
}

export function portOn(endpoint: string | null): number {
  return isLoopback(endpoint) ? Number(endpoint!.slice(LOOPBACK.length)) : 0;
}

/** Whether the address is in one of the networks. Datagrams to it would go into the tunnel. */
export function isInside(address: string, networks: readonly Network[]): boolean {
  const bytes = addressBytes(address);
  return networks.some((network) =>
    bytes?.length === network.bytes.length &&
    masked(bytes, network.prefixLength).join() === network.bytes.join()
  );
}
