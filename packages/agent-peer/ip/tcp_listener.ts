import type { TcpConnection } from "./tcp_connection.ts";

/** Called with each new connection. If it throws, the connection is reset. */
export type Accept = (connection: TcpConnection) => void | Promise<void>;

/** Listens on one port of all addresses of its stack. */
export class TcpListener {
  readonly port: number;
  #close: () => void;

  /** Only `IpStack` creates listeners. */
  constructor(port: number, close: () => void) {
    this.port = port;
    this.#close = close;
  }

  /** Accepts no more connections. Connections that were accepted stay. */
  close(): void {
    this.#close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** For the stack: passes a new connection to the function that accepts it. */
export async function accept(
  connection: TcpConnection,
  take: Accept,
): Promise<void> {
  try {
    await take(connection);
  } catch {
    connection.abort();
  }
}
