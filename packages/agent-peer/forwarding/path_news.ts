import { AgentError } from "../service.ts";
import type { ForwardedPeer } from "./agent/path_file.ts";

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
  /** The last news about each peer, by public key. */
  readonly #told = new Map<string, string>();

  constructor(onNews: (news: PathNews) => Promise<void>) {
    this.#onNews = onNews;
  }

  async tell(
    { publicKey, name, report, hasRelay, isTried, isSought }: {
      readonly publicKey: string;
      readonly name: string;
      /** Undefined if the peer has no port. */
      readonly report: Pick<ForwardedPeer, "via" | "outer"> | undefined;
      readonly hasRelay: boolean;
      /** Whether the peer has endpoints to try. */
      readonly isTried: boolean;
      /** Whether it is too early to say that there is no path. */
      readonly isSought: boolean;
    },
  ): Promise<void> {
    const via = report?.via ?? "none";
    if (via === "none" && isSought) return;
    const endpoint = via === "none" ? null : report?.outer ?? null;
    const reason = via === "none" ? whyNone(isTried, hasRelay) : null;
    const text = `${via} ${endpoint} ${reason}`;
    if (text === this.#told.get(publicKey)) return;
    this.#told.set(publicKey, text);
    await this.#onNews({ peer: name, via, endpoint, reason });
  }

  async tellReleased(publicKey: string, name: string): Promise<void> {
    this.#told.delete(publicKey);
    await this.#onNews({ peer: name, via: "released", endpoint: null, reason: null });
  }

  forgetAll(): void {
    this.#told.clear();
  }
}

/** Reports a repeated error only once. */
export class TroubleTeller {
  readonly #onTrouble: (message: string) => void;
  #told = "";
  /** Set at the end. After that, requests fail because they are cancelled: report nothing. */
  isOver = false;
  /** Set when the service refuses this agent's key. */
  refusal: AgentError | null = null;

  constructor(onTrouble: (message: string) => void) {
    this.#onTrouble = onTrouble;
  }

  /** `error`: null if there is no error any more. */
  tell(error: unknown): void {
    if (this.isOver) return;
    if (error instanceof AgentError && ["unauthenticated", "forbidden"].includes(error.code)) {
      this.refusal = error;
      return;
    }
    const message = error instanceof Error ? error.message : String(error ?? "");
    if (message !== this.#told && error !== null) this.#onTrouble(message);
    this.#told = message;
  }
}

/** Why there is no path, as far as this host can know. */
function whyNone(isTried: boolean, hasRelay: boolean): string {
  const relay = hasRelay ? "" : ", and this host has no relay";
  return isTried
    ? `no answer from any of its endpoints${relay}`
    : `it has registered no endpoint, so both may be behind NAT${relay}`;
}
