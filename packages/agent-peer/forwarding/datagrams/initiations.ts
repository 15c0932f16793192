import { type Endpoint, isSameEndpoint, type Surroundings } from "../../wireguard/surroundings.ts";
import type { Port } from "./sessions.ts";

/** How many milliseconds earlier a handshake is sent by direct paths than by relays. */
const HEAD_START = 500;
/** The same for a repeated handshake. */
const SHORT_HEAD_START = 250;

/**
 * How many milliseconds later the side with the greater public key sends. If two initiations
 * cross, neither side accepts the other's response, and the kernels wait 5 s before they retry.
 */
const SECOND_TURN = 2000;

export interface InitiationOptions {
  readonly surroundings: Surroundings;
  readonly send: (datagram: Uint8Array, to: Endpoint, port: Port) => void;
  /** The number of relays on the path to an endpoint. */
  readonly rankOf: (endpoint: Endpoint) => number;
}

/**
 * The kernel's newest initiation to each peer. It is valid until the kernel makes another one,
 * after 5 s. Until the peer responds, it is also sent by paths that are found later, and repeated
 * on paths where a router may not have let it in.
 */
export class Initiations {
  readonly #options: InitiationOptions;

  constructor(options: InitiationOptions) {
    this.#options = options;
  }

  /** Sends an initiation of the kernel by all paths. The first path that answers is used. */
  begin(port: Port, { datagram, index }: {
    readonly datagram: Uint8Array;
    /** The index that the kernel chose. */
    readonly index: number;
  }): void {
    this.end(port);
    const copy = new Uint8Array(datagram);
    port.initiation = { datagram: copy, index, triedSince: null, stopWaiting: null };
    // First, so that a peer that accepts unsolicited datagrams answers there before any other path.
    if (port.own !== null) this.#options.send(copy, port.own, port);
    this.#send(port);
  }

  /** Call it when the peer has responded, or when the kernel has another session. */
  end(port: Port): void {
    port.initiation?.stopWaiting?.();
    port.initiation = null;
  }

  /** Returns false if nothing is sent. `isFirst`: whether this side has the lower public key. */
  repeat(port: Port, { isFirst }: { readonly isFirst: boolean }): boolean {
    const { initiation, ways } = port;
    if (initiation === null || ways.length === 0) return false;
    const now = this.#options.surroundings.now();
    initiation.triedSince ??= now;
    if (!isFirst && now - initiation.triedSince < SECOND_TURN) return false;
    this.#send(port);
    return true;
  }

  #send(port: Port): void {
    const { initiation } = port;
    if (initiation === null || waysOf(port).length === 0) return;
    const { surroundings, send, rankOf } = this.#options;
    const now = surroundings.now();
    initiation.triedSince ??= now;
    for (const way of waysOf(port)) if (rankOf(way) === 0) send(initiation.datagram, way, port);
    const left = HEAD_START - (now - initiation.triedSince);
    initiation.stopWaiting ??= surroundings.after(Math.max(left, SHORT_HEAD_START), () => {
      initiation.stopWaiting = null;
      for (const way of waysOf(port)) if (rankOf(way) > 0) send(initiation.datagram, way, port);
    });
  }
}

/** The paths that the peer has registered, and the one in use. */
function waysOf({ way, ways }: Port): readonly Endpoint[] {
  return way === null || ways.some((one) => isSameEndpoint(one, way)) ? ways : [way, ...ways];
}
