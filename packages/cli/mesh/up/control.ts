/**
 * One agent runs for each interface: it listens on a Unix socket, which only root can reach and a
 * killed process does not keep. `mesh up --status` and `mesh down` talk to it there.
 */
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { listenAt } from "../../../agent-peer/mesh/proxies/place.ts";
import { pause } from "../../../agent-peer/platform.ts";
import type { Settings } from "./basics/settings.ts";

export type SocketPlace = Pick<Settings, "interfaceName" | "runFolder">;

/** How long a starting agent waits for another one to end, in milliseconds. */
const PATIENCE = 5000;
/** How long an answer may take, in milliseconds. */
const ANSWER = 45_000;

export interface Orders {
  readonly status: () => object;
  /** Resolves when the tunnel is down. */
  readonly down: () => Promise<void>;
}

export function socketOf({ interfaceName, runFolder }: SocketPlace): string {
  return join(runFolder, `${interfaceName}.lock`);
}

/** Throws an Error if another agent runs for this interface. */
export async function openControl(place: SocketPlace, orders: Orders): Promise<Disposable> {
  const path = socketOf(place);
  const began = performance.now();
  while (true) {
    // One that failed to listen keeps its listeners.
    const server = serverOf(orders);
    try {
      await listenAt(server, { kind: "file", path });
      return { [Symbol.dispose]: () => void server.close() };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
      if (performance.now() - began > PATIENCE) {
        throw new Error(`another agent runs for this interface: it holds ${path}`);
      }
      await pause(200);
    }
  }
}

function serverOf(orders: Orders): Server {
  return createServer((socket) => {
    socket.setEncoding("utf8").on("error", () => {});
    socket.once("data", async (order) => {
      const text = String(order).trim();
      if (text === "down") await orders.down();
      socket.end(JSON.stringify(text === "status" ? orders.status() : {}));
    });
  });
}

/** The answer of the running agent; null if none runs. Throws if root is needed. */
export function sendOrder(place: SocketPlace, order: keyof Orders): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect(socketOf(place), () => socket.write(`${order}\n`));
    socket.setEncoding("utf8").setTimeout(ANSWER, () => socket.destroy(new Error("No answer.")));
    socket.on("data", (part) => text += part);
    socket.on("error", (error: NodeJS.ErrnoException) => {
      const isNone = error.code === "ENOENT" || error.code === "ECONNREFUSED";
      if (isNone) resolve(null);
      else if (error.code === "EACCES") reject(new Error("root is needed to ask the agent"));
      else reject(error);
    });
    socket.on("end", () => resolve(JSON.parse(text || "{}")));
  });
}
