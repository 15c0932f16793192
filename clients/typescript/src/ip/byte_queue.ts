/** Bytes that were received and not yet read, in their order. */
export class ByteQueue {
  #chunks: Uint8Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(bytes: Uint8Array): void {
    this.#chunks.push(bytes);
    this.#length += bytes.length;
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
