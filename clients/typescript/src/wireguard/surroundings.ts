/** What a tunnel asks of the world, so that tests decide it. */
export interface Surroundings {
  /** Milliseconds that never go back, and that count the time in which this machine slept. */
  now(): number;
  /** Milliseconds since 1970. */
  unixTime(): number;
  randomBytes(length: number): Uint8Array;
  /** Runs `action` once, after so many milliseconds, unless the function it returns is called. */
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
