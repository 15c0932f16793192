import { createHash } from "node:crypto";
import type { Timeline } from "../clock/timeline.ts";
import type { Envelope } from "./router.ts";

type Route = (envelope: Envelope) => void;

/** Carries datagrams between public addresses, and remembers all of them in one digest. */
export class Internet {
  readonly timeline: Timeline;
  datagrams = 0;
  readonly #routes = new Map<string, Route>();
  readonly #blocked = new Set<string>();
  readonly #digest = createHash("sha256");

  constructor(timeline: Timeline) {
    this.timeline = timeline;
  }

  attach(address: string, route: Route): void {
    this.#routes.set(address, route);
  }

  detach(address: string): void {
    this.#routes.delete(address);
  }

  /** Loses every datagram between two addresses, until `unblock`. */
  block(one: string, other: string): void {
    this.#blocked.add(pairOf(one, other));
  }

  unblock(one: string, other: string): void {
    this.#blocked.delete(pairOf(one, other));
  }

  send(envelope: Envelope): void {
    const { from, to, datagram } = envelope;
    this.datagrams += 1;
    this.#digest.update(
      `${this.timeline.now} ${from.address}:${from.port} ${to.address}:${to.port} `,
    ).update(datagram);
    if (this.#blocked.has(pairOf(from.address, to.address))) return;
    this.#routes.get(to.address)?.(envelope);
  }

  /** Of all datagrams so far, with their times and addresses. */
  digest(): string {
    return this.#digest.copy().digest("hex");
  }
}

function pairOf(one: string, other: string): string {
  return [one, other].sort().join(" ");
}
