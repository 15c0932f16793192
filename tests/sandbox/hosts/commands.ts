import type { MeshPeer } from "../../../clients/typescript/src/mesh/mesh.ts";

/** What the program of a sandbox is told, one JSON object a line. Each is answered by one. */
export type Command =
  | { readonly do: "join"; readonly url: string; readonly key: string; readonly keyFile?: string }
  /** Sends so many random bytes, ends its direction, and reads to the end. */
  | {
    readonly do: "send";
    readonly host: string;
    readonly port: number;
    readonly bytes: number;
  }
  /** Connects as soon as a rule allows it, and asks for the SHA-256 of "hello". */
  | { readonly do: "askSoon"; readonly host: string; readonly port: number }
  /** Sends 32 KiB of random bytes again and again, until `endTransfer`, which answers with Sent. */
  | {
    readonly do: "startTransfer";
    readonly host: string;
    readonly port: number;
    readonly everyMs: number;
  }
  | { readonly do: "endTransfer" }
  /** How many bytes the connections have brought to which `listen` answers. */
  | { readonly do: "received" }
  /** From now on, each connection is answered with the SHA-256 of what it sent. */
  | { readonly do: "listen"; readonly port: number }
  /** From now on, each connection is an HTTP request. */
  | { readonly do: "serveHttp"; readonly port: number }
  /** Opens a connection and reads from it until it ends. `outcome` tells how. */
  | { readonly do: "hold"; readonly host: string; readonly port: number }
  | { readonly do: "outcome" }
  | { readonly do: "fetch"; readonly url: string; readonly body?: string }
  /** The agents whose connections were accepted, in their order. */
  | { readonly do: "accepted" }
  | { readonly do: "peers" }
  /** Waits until the place in the mesh is lost. */
  | { readonly do: "closed" }
  /** Keeps the thread of the application busy. */
  | { readonly do: "beBusy"; readonly milliseconds: number }
  | { readonly do: "close" };

/** The answer: what was asked for, or the error. */
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
  /** SHA-256 of what was sent. */
  readonly sent: string;
  readonly received: string;
}

export type { MeshPeer };
