/** A TCP connection of the mesh, whichever thread has it. Methods reject with `TcpError`. */
export interface ByteStream {
  /** Resolves to the next bytes, or to null at the end of the other side's direction. */
  read(): Promise<Uint8Array | null>;
  /** Resolves when there is room for more. The bytes must not change before. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends this side's direction, after what was written. */
  end(): Promise<void>;
  /** Ends both directions. What was written is still sent. */
  close(): void;
  /** Resets the connection. */
  abort(): void;
}

/** The other side of a connection. */
export interface RemotePort {
  /** One of its tunnel addresses. */
  readonly address: string;
  readonly port: number;
}
