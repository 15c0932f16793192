import type { UdpOptions, UdpSocket } from "./udp_socket.ts";

/**
 * Opens a socket for both families. Under Deno, it is Deno's own: `node:dgram` receives only 582
 * datagrams a second there. Rejects if the port is taken, or in Deno without `--unstable-net`.
 */
export async function openUdpSocket(options: UdpOptions): Promise<UdpSocket> {
  if ("Deno" in globalThis) {
    const { openDenoSocket } = await import("./deno_socket.ts");
    return openDenoSocket(options);
  }
  const { openNodeSocket } = await import("./node_socket.ts");
  return await openNodeSocket(options);
}
