/** The bytes that are sent, and their comparison with the bytes that arrive. */
import { createHash } from "node:crypto";
import type { Stream } from "./streams.ts";

const BLOCK_BYTES = 1 << 20;
const CHUNK_BYTES = 256 * 1024;

const blocks = new Map<number, Uint8Array>();

/** A block of pseudo-random bytes for a seed. */
function blockOf(seed: number): Uint8Array {
  let block = blocks.get(seed);
  if (block === undefined) {
    block = new Uint8Array(BLOCK_BYTES);
    const words = new Uint32Array(block.buffer);
    let state = seed | 1;
    for (let index = 0; index < words.length; index++) {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      words[index] = state;
    }
    if (blocks.size > 8) blocks.clear();
    blocks.set(seed, block);
  }
  return block;
}

/** The bytes for a seed, in chunks. After the first block, the block repeats. */
export function* contentsOf(seed: number, length: number): Generator<Uint8Array> {
  const block = blockOf(seed);
  for (let at = 0; at < length;) {
    const from = at % BLOCK_BYTES;
    const size = Math.min(CHUNK_BYTES, BLOCK_BYTES - from, length - at);
    yield block.subarray(from, from + size);
    at += size;
  }
}

export class Digest {
  readonly #hash = createHash("sha256");
  length = 0;

  constructor(readonly isUnchecked: boolean) {}

  static of(seed: number, length: number, isUnchecked: boolean): string {
    const digest = new Digest(isUnchecked);
    for (const chunk of contentsOf(seed, length)) digest.add(chunk);
    return digest.text();
  }

  add(bytes: Uint8Array): void {
    if (!this.isUnchecked) this.#hash.update(bytes);
    this.length += bytes.length;
  }

  /** A line with the length and the digest. All lines have the same length. */
  text(): string {
    const length = String(this.length).padStart(15, "0");
    return `${length} ${this.isUnchecked ? "-".repeat(64) : this.#hash.digest("hex")}\n`;
  }
}

export const DIGEST_BYTES = 81;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function writeText(stream: Stream, text: string): Promise<void> {
  return stream.write(encoder.encode(text));
}

/**
 * Reads a line, and returns it with the bytes after it that were already read. Null if the stream
 * ends before the line does.
 */
export async function readLine(
  stream: Stream,
): Promise<{ readonly line: string; readonly rest: Uint8Array } | null> {
  let text = "";
  for (let bytes; (bytes = await stream.read()) !== null;) {
    const end = bytes.indexOf(10);
    if (end >= 0) {
      return { line: text + decoder.decode(bytes.subarray(0, end)), rest: bytes.subarray(end + 1) };
    }
    text += decoder.decode(bytes);
  }
  return null;
}

/** Reads to the end. Returns the digest of everything except the last line, and that line. */
export async function readWithTrailer(
  stream: Stream,
  isUnchecked: boolean,
): Promise<{ readonly digest: string; readonly trailer: string }> {
  const digest = new Digest(isUnchecked);
  let tail = new Uint8Array();
  for (let bytes; (bytes = await stream.read()) !== null;) {
    const joined = new Uint8Array(tail.length + bytes.length);
    joined.set(tail);
    joined.set(bytes, tail.length);
    const kept = Math.min(DIGEST_BYTES, joined.length);
    digest.add(joined.subarray(0, joined.length - kept));
    tail = joined.slice(joined.length - kept);
  }
  return { digest: digest.text(), trailer: decoder.decode(tail) };
}
