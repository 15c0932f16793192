/** The limit of the kernel's implementation. */
const MOST = 128;

/** Packets that wait for a session. If there are too many, the oldest are dropped. */
export class PacketQueue {
  #packets: Uint8Array[] = [];

  get length(): number {
    return this.#packets.length;
  }

  /** Keeps a copy: the caller may use the memory again. */
  add(packet: Uint8Array): void {
    if (this.#packets.length === MOST) this.#packets.shift();
    this.#packets.push(new Uint8Array(packet));
  }

  takeAll(): Uint8Array[] {
    const packets = this.#packets;
    this.#packets = [];
    return packets;
  }
}
