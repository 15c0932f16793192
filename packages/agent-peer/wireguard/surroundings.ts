/** The clocks, timers and random numbers of a tunnel, which tests can replace. */
export interface Surroundings {
  /** Milliseconds of a clock that never goes back and continues while this machine sleeps. */
  now(): number;
  /** Milliseconds since 1970. */
  unixTime(): number;
  randomBytes(length: number): Uint8Array;
  /** Runs `action` once, after the delay, unless the returned function is called before. */
  after(milliseconds: number, action: () => void): () => void;
}

/** Where datagrams go to and come from. */
export interface Endpoint {
  /** An IP address. */
  readonly address: string;
  readonly port: number;
  /** Which of the tunnel's sockets: its own, or for example one of a relay. */
  readonly via: string;
}

export function isSameEndpoint(
  one: Endpoint | null,
  other: Endpoint | null,
): boolean {
  if (one === null || other === null) return one === other;
  return one.port === other.port && one.address === other.address &&
    one.via === other.via;
}
