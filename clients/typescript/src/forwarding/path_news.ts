import type { ForwardedPeer } from "./path_file.ts";

/**
 * In milliseconds: how long to look for a path before reporting that none works. Hole punching
 * takes up to 5 s, because the kernel repeats a handshake every 5 s. Opening a relay takes longer.
 */
const SAY_NONE = { withoutRelay: 6000, withRelay: 20_000 };

export interface PathNews {
  /** The peer's name. */
  readonly peer: string;
  /** `released`: the peer's port was closed. */
  readonly via: "direct" | "relay" | "none" | "released";
  readonly endpoint: string | null;
  readonly reason: string | null;
}

/** Reports how each peer is reached, whenever that has changed. */
export class PathTeller {
  readonly #onNews: (news: PathNews) => Promise<void>;
  /** By public key: when a path was first wanted. */
  readonly #wantedSince = new Map<string, number>();
  readonly #told = new Map<string, string>();

  constructor(onNews: (news: PathNews) => Promise<void>) {
    this.#onNews = onNews;
  }

  want(publicKey: string, now: number): void {
    this.#wantedSince.set(publicKey, now);
  }

  /** Call it when the peer is reached, by the kernel itself or by a path from here. */
  isReached(publicKey: string): void {
    this.#wantedSince.delete(publicKey);
  }

  /** `report`: undefined for a peer that is not forwarded. */
  async tell(
    { publicKey, name, report, hasRelay, now }: {
      readonly publicKey: string;
      readonly name: string;
      readonly report: ForwardedPeer | undefined;
      readonly hasRelay: boolean;
      readonly now: number;
    },
  ): Promise<void> {
    const via = report?.via ?? "none";
    const since = this.#wantedSince.get(publicKey) ?? now;
    this.want(publicKey, since);
    const patience = hasRelay ? SAY_NONE.withRelay : SAY_NONE.withoutRelay;
    if (via === "none" && now - since < patience) return;
    if (via !== "none") this.isReached(publicKey);
    const endpoint = via === "none" ? null : report?.outer ?? null;
    const reason = via === "none" ? whyNone(report !== undefined, hasRelay) : null;
    const text = `${via} ${endpoint} ${reason}`;
    if (text === this.#told.get(publicKey)) return;
    this.#told.set(publicKey, text);
    await this.#onNews({ peer: name, via, endpoint, reason });
  }

  async tellReleased(publicKey: string, name: string): Promise<void> {
    this.#wantedSince.delete(publicKey);
    this.#told.delete(publicKey);
    await this.#onNews({ peer: name, via: "released", endpoint: null, reason: null });
  }

  forgetAll(): void {
    this.#wantedSince.clear();
    this.#told.clear();
  }
}

/** Why there is no path, as far as this host can know. */
function whyNone(isTried: boolean, hasRelay: boolean): string {
  const relay = hasRelay ? "" : ", and this host has no relay";
  return isTried
    ? `no answer from any of its endpoints${relay}`
    : `it has registered no endpoint, so both may be behind NAT${relay}`;
}
