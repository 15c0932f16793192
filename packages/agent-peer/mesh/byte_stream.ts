/** A TCP connection of the mesh, in this thread or another one. Methods reject with `TcpError`. */
export interface ByteStream {
  /** Resolves to the next bytes, or to null at the end of the other side's direction. */
  read(): Promise<Uint8Array | null>;
  /** Resolves when there is room for more. Do not change the bytes before that. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends this side's direction, after the bytes written so far. */
  end(): Promise<void>;
  /** Ends both directions. Bytes written so far are still sent. */
  close(): void;
  /** Resets the connection. */
  abort(): void;
}

/** The other side of a connection. */
export interface RemotePort {
  /** One of the peer's tunnel addresses. */
  readonly address: string;
  readonly port: number;
}
