import type { Block } from "./lwip.ts";
import type { TcpConnection } from "./tcp_connection.ts";
import type { TcpError } from "./tcp_error.ts";
import type { Watch } from "./shares/watch.ts";

/** A connection's block, and who is told about the connection. */
export interface WatchedBlock {
  readonly block: Block;
  readonly watch: Watch;
}

interface Entry extends WatchedBlock {
  readonly connection: TcpConnection;
}

/** The connections of lwIP, by their numbers in lwIP. */
export class ConnectionTable {
  #entries = new Map<number, Entry>();
  /** The connections that lwIP has reported something about since the last update. */
  #touched = new Set<TcpConnection>();

  get size(): number {
    return this.#entries.size;
  }

  all(): TcpConnection[] {
    return Array.from(this.#entries.values(), ({ connection }) => connection);
  }

  add(id: number, entry: Entry): void {
    this.#entries.set(id, entry);
  }

  blockOf(id: number): Block | undefined {
    return this.#entries.get(id)?.block;
  }

  get(id: number): TcpConnection | undefined {
    return this.#entries.get(id)?.connection;
  }

  watchOf(id: number): Watch | undefined {
    return this.#entries.get(id)?.watch;
  }

  /** Returns the connection if it was in the table. */
  remove(id: number): TcpConnection | undefined {
    const entry = this.#entries.get(id);
    this.#entries.delete(id);
    entry?.watch.closed();
    return entry?.connection;
  }

  /** Remembers that the connection has something to process. */
  touch(id: number): TcpConnection | undefined {
    const connection = this.#entries.get(id)?.connection;
    if (connection !== undefined) this.#touched.add(connection);
    return connection;
  }

  /** Lets each touched connection process what there is. More may be touched meanwhile. */
  updateTouched(): void {
    for (const connection of this.#touched) {
      this.#touched.delete(connection);
      connection.pump();
      connection.deliver();
    }
  }

  finishAll(error: TcpError): void {
    const connections = this.all();
    for (const { watch } of this.#entries.values()) watch.closed();
    this.#entries.clear();
    for (const connection of connections) connection.finish(error);
  }
}
