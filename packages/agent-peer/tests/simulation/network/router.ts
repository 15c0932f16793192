/** Routers that replace addresses, as RFC 4787 describes them. */

export interface Place {
  readonly address: string;
  readonly port: number;
}

/** A datagram on its way. */
export interface Envelope {
  readonly from: Place;
  readonly to: Place;
  readonly datagram: Uint8Array;
  readonly length: number;
}

/**
 * Whose datagrams a router lets in: anyone's, those of an address or of an address and port that
 * were sent to. A symmetric one also has another outer port for each destination.
 */
export const ROUTERS = [
  "full cone",
  "address-restricted",
  "port-restricted",
  "symmetric",
] as const;
export type RouterKind = typeof ROUTERS[number];

interface Mapping {
  readonly inner: Place;
  readonly port: number;
  /** When a datagram was last sent there, by address, and by address and port. */
  readonly sent: Map<string, number>;
  usedAt: number;
}

export class Router {
  readonly kind: RouterKind;
  /** How long an idle mapping lives, in milliseconds. */
  readonly #lifetime: number;
  readonly #now: () => number;
  #address: string;
  readonly #byFlow = new Map<string, Mapping>();
  readonly #byPort = new Map<number, Mapping>();
  #nextPort: number;

  constructor(
    { kind, address, lifetime, firstPort, now }: {
      readonly kind: RouterKind;
      readonly address: string;
      readonly lifetime: number;
      readonly firstPort: number;
      readonly now: () => number;
    },
  ) {
    this.kind = kind;
    this.#address = address;
    this.#lifetime = lifetime;
    this.#nextPort = firstPort;
    this.#now = now;
  }

  get address(): string {
    return this.#address;
  }

  get mappings(): number {
    return this.#byPort.size;
  }

  /** Forgets every mapping, as a restart does, and gets another address if one is given. */
  restart(address: string = this.#address): void {
    this.#byFlow.clear();
    this.#byPort.clear();
    this.#address = address;
  }

  /** The datagram as it leaves. */
  out(envelope: Envelope): Envelope {
    const { from, to } = envelope;
    const inner = nameOf(from);
    const flow = this.kind === "symmetric" ? `${inner} ${nameOf(to)}` : inner;
    let mapping = this.#byFlow.get(flow);
    if (mapping === undefined || this.#isOver(mapping)) {
      if (mapping !== undefined) this.#byPort.delete(mapping.port);
      mapping = { inner: from, port: this.#nextPort++, sent: new Map(), usedAt: 0 };
      this.#byFlow.set(flow, mapping);
      this.#byPort.set(mapping.port, mapping);
    }
    mapping.usedAt = this.#now();
    mapping.sent.set(to.address, this.#now());
    mapping.sent.set(nameOf(to), this.#now());
    return { ...envelope, from: { address: this.#address, port: mapping.port } };
  }

  /** The datagram as it goes on inside; null if it may not come in. */
  in(envelope: Envelope): Envelope | null {
    const mapping = this.#byPort.get(envelope.to.port);
    if (mapping === undefined || this.#isOver(mapping)) return null;
    if (!this.#lets(mapping, envelope.from)) return null;
    mapping.usedAt = this.#now();
    return { ...envelope, to: mapping.inner };
  }

  #lets(mapping: Mapping, from: Place): boolean {
    if (this.kind === "full cone") return true;
    const name = this.kind === "address-restricted" ? from.address : nameOf(from);
    const sentAt = mapping.sent.get(name);
    return sentAt !== undefined && this.#now() - sentAt < this.#lifetime;
  }

  #isOver(mapping: Mapping): boolean {
    return this.#now() - mapping.usedAt >= this.#lifetime;
  }
}

function nameOf({ address, port }: Place): string {
  return `${address} ${port}`;
}
