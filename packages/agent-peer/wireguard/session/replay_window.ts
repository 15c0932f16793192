const WORD_BITS = 32;
const WORDS = 256;

/** Counters that are this far behind the newest one are refused. */
export const WINDOW_SIZE: number = (WORDS - 1) * WORD_BITS;

/** Which counters were seen: a ring of bits that moves by whole words (RFC 6479). */
export class ReplayWindow {
  readonly #bits = new Uint32Array(WORDS);
  #newest = -1;

  /** Returns whether this counter is new, and marks it as seen. */
  accept(counter: number): boolean {
    if (counter > this.#newest) {
      this.#advance(counter);
    } else if (this.#newest - counter >= WINDOW_SIZE) {
      return false;
    }
    const word = Math.floor(counter / WORD_BITS) % WORDS;
    const bit = 1 << (counter % WORD_BITS);
    if (this.#bits[word]! & bit) return false;
    this.#bits[word]! |= bit;
    return true;
  }

  #advance(counter: number): void {
    const from = Math.floor(Math.max(this.#newest, 0) / WORD_BITS);
    const to = Math.floor(counter / WORD_BITS);
    const words = Math.min(to - from, WORDS);
    for (let word = to - words + 1; word <= to; word++) {
      this.#bits[word % WORDS] = 0;
    }
    this.#newest = counter;
  }
}
