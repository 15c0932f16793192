/** In bytes: chunks below this size are collected in rooms of this size. */
const SMALL = 512;
const ROOM = 4096;

/** Bytes that were received and not yet read, in their order. */
export class ByteQueue {
  #chunks: Uint8Array[] = [];
  #length = 0;
  /** What small chunks are collected in. */
  #room = new Uint8Array();

  get length(): number {
    return this.#length;
  }

  push(bytes: Uint8Array): void {
    this.#length += bytes.length;
    if (bytes.length >= SMALL || !this.#append(bytes)) this.#chunks.push(bytes);
  }

  /** Adds a small chunk to the small chunks before it: one for each byte would fill the memory. */
  #append(bytes: Uint8Array): boolean {
    const last = this.#chunks.at(-1);
    if (last === undefined) return false;
    const end = last.byteOffset + last.length;
    if (last.buffer !== this.#room.buffer) {
      if (last.length >= SMALL) return false;
      this.#room = new Uint8Array(ROOM);
      this.#room.set(last);
      this.#room.set(bytes, last.length);
      this.#chunks[this.#chunks.length - 1] = this.#room.subarray(0, last.length + bytes.length);
      return true;
    }
    if (end + bytes.length > ROOM) return false;
    this.#room.set(bytes, end);
    const whole = this.#room.subarray(last.byteOffset, end + bytes.length);
    this.#chunks[this.#chunks.length - 1] = whole;
    return true;
  }

  /** Removes up to `most` bytes from the front: whole chunks, joined, or a part of a large one. */
  take(most: number): Uint8Array {
    let [count, bytes] = [0, 0];
    while (
      count < this.#chunks.length && bytes + this.#chunks[count]!.length <= most
    ) {
      bytes += this.#chunks[count++]!.length;
    }
    if (count === 0) return this.#takePart(most);
    const taken = this.#chunks.splice(0, count);
    this.#length -= bytes;
    return taken.length === 1 ? taken[0]! : join(taken, bytes);
  }

  #takePart(most: number): Uint8Array {
    const [first] = this.#chunks;
    if (first === undefined) return new Uint8Array();
    this.#chunks[0] = first.subarray(most);
    this.#length -= most;
    return first.subarray(0, most);
  }

  clear(): void {
    this.#chunks = [];
    this.#length = 0;
  }
}

function join(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const joined = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    joined.set(chunk, at);
    at += chunk.length;
  }
  return joined;
}
