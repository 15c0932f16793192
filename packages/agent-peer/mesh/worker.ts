/** The program of the thread that `join` starts, and terminates. */
import { parentPort } from "node:worker_threads";
import { EngineHost } from "./worker/engine_host.ts";
import type { FromEngine, ToEngine } from "./worker/messages.ts";

const port = parentPort!;
const host = new EngineHost((message, transfer = []) =>
  // Node's types have a MessagePort of their own.
  port.postMessage(message, transfer as unknown as [])
);
port.on("message", (message: ToEngine) => void host.take(message));
port.postMessage({ is: "ready" } satisfies FromEngine);
