import { Buffer } from "node:buffer";

/** The pages that differ from those of the first state that was saved, by their numbers. */
export type SavedMemory = ReadonlyMap<number, Uint8Array>;

const PAGE_BYTES = 64 * 1024;
const ZEROS = new Uint8Array(1024 ** 2);

/** Saves and restores the memory of a program. A state costs as much as differs from the first. */
export class Memory {
  readonly #present: () => Uint8Array;
  #first: Uint8Array | null = null;

  /** `present`: the memory now. It may have grown since the last call. */
  constructor(present: () => Uint8Array) {
    this.#present = present;
  }

  save(): SavedMemory {
    const memory = this.#present();
    const used = usedLength(memory);
    this.#first ??= memory.slice(0, used);
    const pages = new Map<number, Uint8Array>();
    for (let number = 0; number * PAGE_BYTES < used; number++) {
      const page = pageOf(memory, number);
      if (Buffer.compare(page, this.#firstPage(number)) !== 0) pages.set(number, page.slice());
    }
    return pages;
  }

  restore(pages: SavedMemory): void {
    const memory = this.#present();
    const count = Math.max(
      usedLength(memory) / PAGE_BYTES,
      this.#first!.length / PAGE_BYTES,
      // The last page is the last that was put in.
      ([...pages.keys()].at(-1) ?? -1) + 1,
    );
    for (let number = 0; number < count; number++) {
      const page = pages.get(number) ?? this.#firstPage(number);
      if (Buffer.compare(pageOf(memory, number), page) !== 0) memory.set(page, number * PAGE_BYTES);
    }
  }

  #firstPage(number: number): Uint8Array {
    const page = pageOf(this.#first!, number);
    return page.length === 0 ? ZEROS.subarray(0, PAGE_BYTES) : page;
  }
}

function pageOf(memory: Uint8Array, number: number): Uint8Array {
  return memory.subarray(number * PAGE_BYTES, (number + 1) * PAGE_BYTES);
}

/** The length of the memory up to its last megabyte that is not all 0: a quarter of the whole. */
function usedLength(memory: Uint8Array): number {
  for (let end = memory.length; end > 0; end -= ZEROS.length) {
    if (Buffer.compare(memory.subarray(end - ZEROS.length, end), ZEROS) !== 0) return end;
  }
  return 0;
}
