/** A simulated mesh for proxies, and clients that talk to the proxies. */
import { Buffer } from "node:buffer";
import { connect, type Server } from "node:net";
import { Duplex, PassThrough } from "node:stream";
import { TcpError } from "../../ip/tcp_error.ts";
import { MeshError } from "../../mesh/mesh_error.ts";
import { listenAt } from "../../mesh/proxies/place.ts";
import type { Dial } from "../../mesh/proxies/tunnelling.ts";

export interface Dialled {
  readonly host: string;
  readonly port: number;
}

/**
 * Port 80 echoes, port 81 echoes the head of an HTTP request; each other port fails differently.
 */
export function pretendedMesh(): { readonly dial: Dial; readonly dialled: Dialled[] } {
  const dialled: Dialled[] = [];
  const dial: Dial = ({ host, port }) => {
    dialled.push({ host, port });
    if (port === 80) return Promise.resolve(new PassThrough({ allowHalfOpen: true }));
    if (port === 81) return Promise.resolve(httpEcho());
    if (port === 1) return Promise.reject(new MeshError("no_rule", "No rule."));
    if (port === 2) return Promise.reject(new MeshError("unknown_peer", "Nobody."));
    if (port === 3) return Promise.reject(new TcpError("ECONNREFUSED"));
    if (port === 4) return Promise.reject(new TcpError("ETIMEDOUT", { reason: "no way" }));
    return Promise.reject(new Error("Broken."));
  };
  return { dial, dialled };
}

/** Answers one HTTP request with the request's head as text. */
function httpEcho(): Duplex {
  let head = "";
  return new Duplex({
    read: () => {},
    write(chunk: Uint8Array, _encoding, done) {
      head += Buffer.from(chunk).toString();
      if (head.includes("\r\n\r\n")) {
        this.push(
          "HTTP/1.1 201 Made\r\nx-answer: yes\r\nkeep-alive: timeout=5\r\nconnection: close\r\n" +
            `content-length: ${head.length}\r\n\r\n${head}`,
        );
        this.push(null);
      }
      done();
    },
  });
}

export interface HttpPeer {
  readonly dial: Dial;
  readonly received: () => string;
  readonly close: () => void;
  readonly isClosed: () => boolean;
}

/** A peer's HTTP service for one connection: it answers the first bytes with `answer`. */
export function httpPeer(answer: string): HttpPeer {
  let received = "";
  const connection = new Duplex({
    read: () => {},
    write(chunk: Uint8Array, _encoding, done) {
      if (received === "") this.push(Buffer.from(answer, "latin1"));
      received += Buffer.from(chunk).toString("latin1");
      done();
    },
  });
  return {
    dial: () => Promise.resolve(connection),
    received: () => received,
    close: () => void connection.destroy(),
    isClosed: () => connection.destroyed,
  };
}

/** Listens at a free port of this machine while `use` runs. */
export async function withServer(
  server: Server,
  use: (port: number) => Promise<void>,
): Promise<void> {
  const place = await listenAt(server, { kind: "port", host: "127.0.0.1", port: 0 });
  try {
    await use(place.kind === "port" ? place.port : 0);
  } finally {
    server.close();
  }
}

/** Sends bytes, some of them one by one, and resolves to everything that comes back. */
export function exchange(
  port: number,
  pieces: readonly (string | Uint8Array)[],
  { half = true }: { readonly half?: boolean } = {},
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    const chunks: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.on("close", () => resolve(Buffer.concat(chunks)));
    socket.on("end", () => socket.end());
    socket.on("error", reject);
    void (async () => {
      for (const piece of pieces) {
        // The server may already have refused and closed.
        if (!socket.writable) return;
        socket.write(piece);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      if (half) socket.end();
    })();
  });
}
