export interface PathNews {
  /** The peer's name. */
  readonly peer: string;
  /** `released`: it has no port any more. */
  readonly via: "direct" | "relay" | "none" | "released";
  readonly endpoint: string | null;
  readonly reason: string | null;
}

/** As far as this host can know. */
export function whyNone(isTried: boolean, hasRelay: boolean): string {
  const relay = hasRelay ? "" : ", and this host has no relay";
  return isTried
    ? `no answer from any of its endpoints${relay}`
    : `it has told of no endpoint, so both may be behind NAT${relay}`;
}
