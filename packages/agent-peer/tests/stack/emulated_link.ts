/**
 * A link between two stacks in this process. A seed determines its delay, loss, reordering and
 * duplication.
 */

export interface LinkOptions {
  /** One way, in milliseconds. */
  readonly delayMs?: number;
  /** Shares of the packets, from 0 to 1, for `loss`, `reordering` and `duplication`. */
  readonly loss?: number;
  readonly reordering?: number;
  readonly duplication?: number;
  /** Megabits a second, with a queue of this many bytes. Default: no limit. */
  readonly rate?: { readonly mbits: number; readonly queueBytes: number };
  readonly seed?: number;
}

/** A packet of any kind: its length is its time on the link. */
interface Sized {
  readonly length: number;
}

interface Receiver<Packet> {
  input(packet: Packet): void;
}

interface InFlight<Packet> {
  readonly at: number;
  readonly packet: Packet;
}

/** Pseudo-random numbers from 0 to 1 for a seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** One direction of the link. Packets arrive in the order of their arrival times, not earlier. */
export class LinkDirection<Packet extends Sized = Uint8Array> {
  receiver: Receiver<Packet> | null = null;
  sent = 0;
  dropped = 0;
  /** May be replaced at any time; packets in flight keep their times. */
  options: LinkOptions;
  #random: () => number;
  #queue: InFlight<Packet>[] = [];
  #timer: ReturnType<typeof setTimeout> | null = null;
  #freeAt = 0;

  constructor(options: LinkOptions) {
    this.options = options;
    this.#random = randomFrom(options.seed ?? 1);
  }

  send(packets: readonly Packet[]): void {
    const { loss = 0, duplication = 0 } = this.options;
    for (const packet of packets) {
      this.sent++;
      if (this.#random() < loss) {
        this.dropped++;
        continue;
      }
      this.#queueOne(packet);
      if (this.#random() < duplication) this.#queueOne(packet);
    }
    this.#arm();
  }

  #queueOne(packet: Packet): void {
    const { delayMs = 0, reordering = 0, rate } = this.options;
    const now = performance.now();
    let leaves = now;
    if (rate !== undefined) {
      const msPerByte = 8 / (rate.mbits * 1000);
      leaves = Math.max(now, this.#freeAt);
      if ((leaves - now) / msPerByte + packet.length > rate.queueBytes) {
        this.dropped++;
        return;
      }
      leaves = this.#freeAt = leaves + packet.length * msPerByte;
    }
    // A reordered packet arrives after all packets that are sent in the next 2 to 5 milliseconds.
    const late = this.#random() < reordering ? 2 + this.#random() * 3 : 0;
    const at = leaves + delayMs + late;
    let index = this.#queue.length;
    while (index > 0 && this.#queue[index - 1]!.at > at) index--;
    this.#queue.splice(index, 0, { at, packet });
  }

  #arm(): void {
    const [first] = this.#queue;
    if (this.#timer !== null || first === undefined) return;
    const wait = first.at - performance.now();
    this.#timer = setTimeout(() => this.#deliver(), Math.max(0, wait));
  }

  #deliver(): void {
    this.#timer = null;
    const now = performance.now();
    let due = 0;
    while (due < this.#queue.length && this.#queue[due]!.at <= now) due++;
    for (const { packet } of this.#queue.splice(0, due)) this.receiver?.input(packet);
    this.#arm();
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#queue = [];
    this.receiver = null;
  }
}
