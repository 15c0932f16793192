import type { ConnectionFacts } from "../tcp_connection.ts";

/** What a stack tells about one connection. All lengths are in bytes. */
export interface Watch {
  /** How many bytes may be queued for sending now. */
  room(): number;
  queued(length: number): void;
  /** The other side has acknowledged so many. */
  acknowledged(length: number): void;
  /** The next bytes have arrived, in their order. */
  received(length: number): void;
  /** The application has taken so many. */
  taken(length: number): void;
  closed(): void;
}

/** Decides which connections a stack accepts, and is told what they hold. */
export interface Watcher {
  /**
   * Null: the connection is refused. `drop` resets it later, if another one needs its place more.
   */
  accepts(facts: ConnectionFacts, drop: () => void): Watch | null;
  /** This side opens a connection. */
  opens(facts: ConnectionFacts): Watch;
}

const UNWATCHED: Watch = {
  room: () => Infinity,
  queued() {},
  acknowledged() {},
  received() {},
  taken() {},
  closed() {},
};

/** Accepts up to a number of connections, whoever opens them. */
export function countingWatcher(most: number): Watcher {
  let count = 0;
  const opens = (): Watch => {
    count++;
    return { ...UNWATCHED, closed: () => count-- };
  };
  return { opens, accepts: () => count >= most ? null : opens() };
}
