import type { Watcher } from "./shares/watch.ts";

export interface IpStackOptions {
  /** lwIP: see `readLwip`. */
  readonly wasm: BufferSource | WebAssembly.Module;
  /** The stack's own addresses: at most one of IPv4 and one of IPv6. */
  readonly addresses: readonly string[];
  /** Called with packets to send, some at a time. The function may keep them. */
  readonly onOutput: (packets: readonly Uint8Array[]) => void;
  /**
   * Called when the stack has failed, and all its connections with it. Default: throws the error.
   */
  readonly onFailure?: (error: Error) => void;
  /** The largest packet, in bytes. Default: 1280. */
  readonly mtu?: number;
  /** Decides which connections are accepted. Default: 4096, whoever opens them. */
  readonly watcher?: Watcher;
}

export interface ConnectOptions {
  readonly address: string;
  readonly port: number;
  /** Gives up connecting, with a reset. */
  readonly signal?: AbortSignal;
}
