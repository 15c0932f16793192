import type { MeshPeer } from "../../../packages/agent-peer/mesh/mesh.ts";

/** The commands for the program of a sandbox. Each command and each answer is one line of JSON. */
export type Command =
  | { readonly do: "join"; readonly url: string; readonly key: string; readonly keyFile?: string }
  /** Sends this many random bytes, ends its direction, and reads to the end. */
  | {
    readonly do: "send";
    readonly host: string;
    readonly port: number;
    readonly bytes: number;
  }
  /** Connects as soon as a rule allows it, and gets the SHA-256 of "hello". */
  | { readonly do: "askSoon"; readonly host: string; readonly port: number }
  /** Repeatedly sends 32 KiB of random bytes until `endTransfer`, which answers with Sent. */
  | {
    readonly do: "startTransfer";
    readonly host: string;
    readonly port: number;
    readonly everyMs: number;
  }
  | { readonly do: "endTransfer" }
  /** How many bytes the connections to the `listen` port have brought. */
  | { readonly do: "received" }
  /** From now on, answers each connection with the SHA-256 of the bytes that it sent. */
  | { readonly do: "listen"; readonly port: number }
  /** From now on, answers each connection as an HTTP request. */
  | { readonly do: "serveHttp"; readonly port: number }
  /** Opens a connection and reads from it until it ends. `outcome` reports how it ended. */
  | { readonly do: "hold"; readonly host: string; readonly port: number }
  | { readonly do: "outcome" }
  /** Sends without end. `poured` says how it ended, or null; `stopPouring` resets it. */
  | { readonly do: "pour"; readonly host: string; readonly port: number }
  | { readonly do: "poured" }
  | { readonly do: "stopPouring" }
  /** From now on, reads a connection to its end. `drained` says how much, and how it ended. */
  | { readonly do: "drain"; readonly port: number }
  | { readonly do: "drained" }
  /** From now on, answers HTTP requests by `serve`. `signals`: which of them were aborted. */
  | { readonly do: "serveWeb"; readonly port: number }
  | { readonly do: "signals" }
  /** From now on, answers each datagram with the sender's agent and the text. */
  | { readonly do: "serveUdp"; readonly port: number }
  /** Sends a datagram each second until there is an answer. Rejects with the error of `send`. */
  | { readonly do: "askUdp"; readonly host: string; readonly port: number; readonly text: string }
  | { readonly do: "flows" }
  | { readonly do: "fetch"; readonly url: string; readonly body?: string }
  /** The agents whose connections were accepted, in order. */
  | { readonly do: "accepted" }
  | { readonly do: "peers" }
  /** Waits until the sandbox has lost its place in the mesh. */
  | { readonly do: "closed" }
  /** Keeps the application's thread busy. */
  | { readonly do: "beBusy"; readonly milliseconds: number }
  | { readonly do: "close" };

/** The result of the command, or the error. */
export interface Answer {
  readonly error?: { readonly code: string; readonly message: string };
  readonly [field: string]: unknown;
}

export interface Joined {
  readonly agentId: string;
  readonly name: string;
  readonly addresses: readonly [string, string];
}

export interface Sent {
  /** SHA-256 of the sent bytes. */
  readonly sent: string;
  readonly received: string;
}

export type { MeshPeer };
