export interface IpStackOptions {
  /** lwIP: see `readLwip`. */
  readonly wasm: BufferSource | WebAssembly.Module;
  /** The stack's own addresses: at most one of IPv4 and one of IPv6. */
  readonly addresses: readonly string[];
  /** Sends packets, some at a time. They are the receiver's to keep. */
  readonly onOutput: (packets: readonly Uint8Array[]) => void;
  /** The stack broke, and all of its connections with it. Default: the error is thrown. */
  readonly onFailure?: (error: Error) => void;
  /** The largest packet. Default: 1280. */
  readonly mtu?: number;
  /** More connections than this are reset. Default: 4096. */
  readonly maxConnections?: number;
}

export interface ConnectOptions {
  readonly address: string;
  readonly port: number;
  /** Gives up, with a reset. */
  readonly signal?: AbortSignal;
}
