import { MeshConn } from "./conn.ts";
import type { Connection } from "./connection.ts";
import { MeshNetSocket } from "./net_socket.ts";

/** A connection: under Deno a `Deno.Conn`, everywhere else a `net.Socket` of Node. */
export type MeshSocket = typeof globalThis extends { readonly Deno: unknown } ? MeshConn
  : MeshNetSocket;

export function toSocket(connection: Connection): MeshSocket {
  const socket = "Deno" in globalThis
    ? new MeshConn(connection)
    : new MeshNetSocket(null).open(connection);
  return socket as MeshSocket;
}
