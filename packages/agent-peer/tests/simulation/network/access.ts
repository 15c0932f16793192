import { LinkDirection, type LinkOptions } from "../../stack/emulated_link.ts";
import type { Timeline } from "../clock/timeline.ts";
import type { Internet } from "./internet.ts";
import type { Envelope, Router } from "./router.ts";

type Impairment = Pick<LinkOptions, "delayMs" | "loss" | "reordering" | "duplication">;

/** A network behind one router: its hosts reach each other by their private addresses. */
export class PrivateNetwork {
  readonly router: Router;
  readonly #internet: Internet;
  readonly #hosts = new Map<string, Access>();

  constructor(internet: Internet, router: Router) {
    this.#internet = internet;
    this.router = router;
    this.#attach();
  }

  add(address: string, access: Access): void {
    this.#hosts.set(address, access);
  }

  out(envelope: Envelope): void {
    const neighbour = this.#hosts.get(envelope.to.address);
    if (neighbour !== undefined) return neighbour.arrive(envelope);
    // Like most routers of homes, it does not turn datagrams to its own address around.
    if (isPrivate(envelope.to.address) || envelope.to.address === this.router.address) return;
    this.#internet.send(this.router.out(envelope));
  }

  restart(address: string): void {
    this.#internet.detach(this.router.address);
    this.router.restart(address);
    this.#attach();
  }

  #attach(): void {
    this.#internet.attach(this.router.address, (envelope) => {
      const inner = this.router.in(envelope);
      if (inner !== null) this.#hosts.get(inner.to.address)?.arrive(inner);
    });
  }
}

/** The wire of one host, with a direction up and a direction down. */
export class Access {
  readonly #timeline: Timeline;
  readonly #up: LinkDirection<Envelope>;
  readonly #down: LinkDirection<Envelope>;
  readonly #base: LinkOptions;
  readonly #impairments = new Map<number, Impairment>();

  constructor(
    { timeline, link, seed, send, receive }: {
      readonly timeline: Timeline;
      readonly link: LinkOptions;
      readonly seed: number;
      /** Takes what the host has sent. */
      readonly send: (envelope: Envelope) => void;
      /** Takes what arrives at the host. */
      readonly receive: (envelope: Envelope) => void;
    },
  ) {
    this.#timeline = timeline;
    this.#base = link;
    this.#up = new LinkDirection<Envelope>({ ...link, seed });
    this.#down = new LinkDirection<Envelope>({ ...link, seed: seed + 1 });
    this.#up.receiver = { input: send };
    this.#down.receiver = { input: receive };
  }

  leave(envelope: Envelope): void {
    this.#timeline.outside(() => this.#up.send([envelope]));
  }

  arrive(envelope: Envelope): void {
    this.#timeline.outside(() => this.#down.send([envelope]));
  }

  impair(number: number, impairment: Impairment): void {
    this.#impairments.set(number, impairment);
    this.#apply();
  }

  heal(number: number): void {
    this.#impairments.delete(number);
    this.#apply();
  }

  #apply(): void {
    const options = Object.assign({ ...this.#base }, ...this.#impairments.values());
    this.#up.options = this.#down.options = options;
  }
}

function isPrivate(address: string): boolean {
  return address.startsWith("10.") || address.startsWith("192.168.");
}
