/** What comes to one end of a connection: bytes, the end (null), or an error. */
export class Incoming {
  readonly #items: (Uint8Array | null | Error)[] = [];
  #wake: () => void = () => {};

  put(item: Uint8Array | null | Error): void {
    this.#items.push(item);
    this.#wake();
  }

  /** Waits for the next bytes; null at the end. Rejects with an error that came. */
  async read(): Promise<Uint8Array | null> {
    while (this.#items.length === 0) {
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    const next = this.#items.shift()!;
    if (next instanceof Error) throw next;
    return next;
  }
}
