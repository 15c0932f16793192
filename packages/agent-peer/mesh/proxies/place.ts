import { chmod, lstat, unlink } from "node:fs/promises";
import { connect, type Server } from "node:net";
import process from "node:process";

/** Where a proxy listens: only on this machine. */
export type Place =
  | { readonly kind: "port"; readonly host: string; readonly port: number }
  | { readonly kind: "file"; readonly path: string };

/**
 * Reads `1080`, `127.0.0.1:1080`, `[::1]:1080`, or the path of a Unix socket, which has a `/`. Null
 * if the text is none of these. Port 0 is any free port.
 */
export function parsePlace(text: string): Place | null {
  if (text.includes("/")) return { kind: "file", path: text };
  const match = /^(?:(127(?:\.\d{1,3}){3}|\[::1\]|localhost):)?(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (match === null || port > 65_535) return null;
  const host = (match[1] ?? "127.0.0.1").replace(/[[\]]/g, "").replace("localhost", "127.0.0.1");
  return { kind: "port", host, port };
}

/** A place as `parsePlace` reads it. */
export function textOf(place: Place): string {
  if (place.kind === "file") return place.path;
  return `${place.host.includes(":") ? `[${place.host}]` : place.host}:${place.port}`;
}

/**
 * Resolves to where the server listens, with the actual port. Only this user can connect to a Unix
 * socket; a socket that an ended process left behind is replaced. Rejects as `listen` does.
 */
export async function listenAt(server: Server, place: Place): Promise<Place> {
  if (place.kind === "file") {
    await listenAtFile(server, place.path);
    return place;
  }
  await listening(server, () => server.listen(place.port, place.host));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : place.port;
  return { ...place, port };
}

async function listenAtFile(server: Server, path: string): Promise<void> {
  // Set the umask before the socket exists: other users must not connect before the `chmod`.
  const previous = process.umask(0o177);
  try {
    await listening(server, () => server.listen(path)).catch(async (error) => {
      if (error.code !== "EADDRINUSE" || !await isLeftBehind(path)) throw error;
      await unlink(path);
      await listening(server, () => server.listen(path));
    });
  } finally {
    process.umask(previous);
  }
  await chmod(path, 0o600);
}

function listening(server: Server, listen: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.once("listening", () => {
      server.off("error", reject);
      resolve();
    });
    listen();
  });
}

/** Whether it is a Unix socket at which no process answers. */
async function isLeftBehind(path: string): Promise<boolean> {
  if (!(await lstat(path)).isSocket()) return false;
  return await new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(false);
    });
    socket.once("error", () => resolve(true));
  });
}
