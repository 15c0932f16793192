import type { KernelPeer } from "./kernel.ts";
import { isLoopback } from "./places.ts";

/** In milliseconds. WireGuard answers a packet within 10 s, even if no program answers it. */
const ANSWER = 15_000;

/**
 * Packets in flight through the port move the kernel back to the port. The limit ends this if the
 * peer's packets arrive by no other path.
 */
const MOST_TRIES = 5;

interface Attempt {
  readonly place: string;
  since: number;
  tries: number;
  /** Null until the kernel was seen to use `place`. */
  receivedBytes: number | null;
}

/** `failed`: set the port as the endpoint again, and do not retry. */
export type Step =
  | { readonly is: "set"; readonly place: string }
  | { readonly is: "nothing" | "wait" | "returned" | "failed" };

/**
 * Returns peers to the kernel if it can reach them without a port. To lose no packet, the port
 * stays open until a packet of the peer has arrived directly.
 */
export class Returns {
  readonly #attempts = new Map<string, Attempt>();

  /** `place`: where the kernel may reach the peer; null if that is unknown. */
  next(
    { publicKey, endpoint, receivedBytes }: KernelPeer,
    { place, now }: { readonly place: string | null; readonly now: number },
  ): Step {
    const attempt = this.#attempts.get(publicKey);
    // The peer has sent from elsewhere, or the agent has set its new endpoint: keep that.
    const isElsewhere = endpoint !== null && !isLoopback(endpoint) &&
      endpoint !== (attempt?.place ?? place);
    if (isElsewhere) return this.#end(publicKey, "nothing");
    if (attempt === undefined) {
      if (place === null) return { is: "nothing" };
      this.#attempts.set(publicKey, { place, since: now, tries: 1, receivedBytes: null });
      return { is: "set", place };
    }
    const isThere = endpoint === attempt.place;
    const before = attempt.receivedBytes;
    if (isThere && before === null) attempt.receivedBytes = receivedBytes;
    else if (isThere && receivedBytes > before!) return this.#end(publicKey, "returned");
    if (isThere && now - attempt.since < ANSWER) return { is: "wait" };
    if (isThere || attempt.tries === MOST_TRIES) return this.#end(publicKey, "failed");
    attempt.tries++;
    attempt.receivedBytes = null;
    return { is: "set", place: attempt.place };
  }

  forget(publicKey: string): void {
    this.#attempts.delete(publicKey);
  }

  #end(publicKey: string, is: "nothing" | "returned" | "failed"): Step {
    this.#attempts.delete(publicKey);
    return { is };
  }
}
