import type { Duplex } from "node:stream";
import { toDuplex } from "./duplex.ts";
import type { ByteStream, RemotePort } from "../byte_stream.ts";
import { MeshConn } from "./conn.ts";

/** A connection: under Deno a `MeshConn`, everywhere else a `Duplex` of Node. */
export type MeshSocket = typeof globalThis extends { readonly Deno: unknown } ? MeshConn : Duplex;

export async function toSocket(
  stream: ByteStream,
  ends: { readonly local: RemotePort; readonly remote: RemotePort },
): Promise<MeshSocket> {
  const socket = "Deno" in globalThis ? new MeshConn(stream, ends) : await toDuplex(stream);
  return socket as MeshSocket;
}
