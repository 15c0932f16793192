/** Datagrams of SOCKS5 (RFC 1928, 7). */
import { Buffer } from "node:buffer";
import { bytesOf, formatAddress } from "../../../ip/addresses.ts";
import { openUdpSocket } from "../../../wireguard/sockets/open_udp_socket.ts";
import type { LocalPort } from "./forward_udp.ts";
import { readAll, type UdpSides } from "./sessions.ts";

const LOOPBACK = "127.0.0.1";
const [IPV4, NAME, IPV6] = [1, 3, 4] as const;
/** How many datagrams of a client are under way. More are lost. */
const MOST_UNDER_WAY = 256;

interface Unwrapped {
  readonly host: string;
  readonly port: number;
  readonly data: Uint8Array;
}

/** Null if it is malformed or a fragment: the relay does not put fragments together. */
export function unwrap(datagram: Uint8Array): Unwrapped | null {
  const bytes = Buffer.from(datagram.buffer, datagram.byteOffset, datagram.length);
  if (bytes.length < 5 || bytes.readUInt16BE(0) !== 0 || bytes[2] !== 0) return null;
  const [from, length] = bytes[3] === NAME ? [5, bytes[4]!] : [4, lengthOf(bytes[3]!)];
  const end = from + length;
  if (length === 0 || bytes.length < end + 2) return null;
  const address = bytes.subarray(from, end);
  const host = bytes[3] === NAME ? address.toString() : formatAddress(address);
  const port = bytes.readUInt16BE(end);
  return port === 0 ? null : { host, port, data: Uint8Array.from(bytes.subarray(end + 2)) };
}

function lengthOf(kind: number): number {
  return kind === IPV4 ? 4 : kind === IPV6 ? 16 : 0;
}

/** The datagram for the client. The address is that of the sender. */
export function wrap(
  { address, port }: { readonly address: string; readonly port: number },
  data: Uint8Array,
): Uint8Array {
  const bytes = bytesOf(address);
  const kind = bytes.length === 4 ? IPV4 : IPV6;
  return Uint8Array.of(0, 0, 0, kind, ...bytes, port >> 8, port & 255, ...data);
}

export interface SocksRelay extends LocalPort {
  /** Resolves when the relay is closed or the mesh was left. */
  readonly ended: Promise<void>;
}

/**
 * Opens a port of 127.0.0.1 for the datagrams of one client, and one in the mesh. `clientPort` is
 * where the client sends from; 0: where its first datagram comes from. Others are ignored.
 */
export async function openSocksRelay(
  { mesh, openSocket = openUdpSocket }: UdpSides,
  clientPort: number,
): Promise<SocksRelay> {
  const socket = await mesh.udp();
  let client = clientPort;
  let underWay = 0;
  const pass = async ({ data, ...to }: Unwrapped) => {
    if (underWay >= MOST_UNDER_WAY) return;
    underWay++;
    // No rule, or no such peer: the flow log has it.
    await socket.send(data, to).catch(() => {});
    underWay--;
  };
  const local = await openSocket({
    port: 0,
    via: "local",
    isLoopback: true,
    onDatagram(datagram, { address, port }) {
      const unwrapped = unwrap(datagram);
      if (unwrapped === null || address !== LOOPBACK) return;
      if (client === 0) client = port;
      if (client === port) void pass(unwrapped);
    },
  }).catch((error) => {
    socket.close();
    throw error;
  });
  const ended = readAll(socket, ({ data, from }) => {
    if (client !== 0) local.send(wrap(from, data), { address: LOOPBACK, port: client });
  }).catch(() => {});
  const close = () => {
    local.close();
    socket.close();
  };
  return { port: local.port, ended, close };
}
