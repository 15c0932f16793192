import type { Duplex } from "node:stream";
import { nodeModule } from "../../platform.ts";
import type { ByteStream } from "../byte_stream.ts";

/**
 * Makes a Node stream of a connection. Each direction may end by itself. Destroying the stream
 * resets the connection, unless both directions have ended. Throws on platforms without Node
 * streams.
 */
export async function toDuplex(connection: ByteStream): Promise<Duplex> {
  const stream = await nodeModule<typeof import("node:stream")>("node:stream");
  if (stream === null) {
    throw new Error("This platform has no streams of Node's kind.");
  }
  const duplex = new stream.Duplex({
    allowHalfOpen: true,
    read: () => {
      connection.read().then(
        (bytes) => duplex.push(bytes),
        (error) => duplex.destroy(error),
      );
    },
    write: (bytes: Uint8Array, _encoding, callback) => {
      connection.write(bytes).then(() => callback(), callback);
    },
    final: (callback) => {
      connection.end().then(() => callback(), callback);
    },
    destroy: (error, callback) => {
      if (error === null && duplex.readableEnded && duplex.writableFinished) {
        connection.close();
      } else connection.abort();
      callback(error);
    },
  });
  return duplex;
}
