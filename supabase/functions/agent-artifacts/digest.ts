import { Buffer } from "node:buffer";
import { createSHA256 } from "hash-wasm";
import { ServiceError } from "../_shared/errors.ts";
import type { ObjectStore } from "./object_store.ts";

const BUFFER_BYTES = 64 * 1024;

/** Where the hashing of one object has come to. */
export interface Progress {
  readonly verified_bytes: number;
  /** The SHA-256 state of as many bytes, in base64. */
  readonly hash_state: string;
}

/** The whole object was seen, or enough of it to tell that it is wrong. */
export interface Observation {
  readonly complete: true;
  /** In bytes. */
  readonly size: number;
  /** Lower-case hex; null where the size alone already decides. */
  readonly sha256: string | null;
}

/** There is more to read than one call may. */
export interface PartialObservation extends Progress {
  readonly complete: false;
  readonly object_id: string;
  readonly object_version: string;
}

export interface DigestOptions {
  /** In bytes. */
  readonly expectedSize: number;
  /** Of this very object; null: from its beginning. */
  readonly progress: Progress | null;
  readonly maxBytesPerCall: number;
  /** After this, what was read so far is given back as it is, and the next call goes on from there. */
  readonly maxMillisecondsPerCall: number;
  /** Ends the reading without a result. */
  readonly signal: AbortSignal;
}

/**
 * Reads the object at `path` in constant memory and says what is there, or how far it came. Null when there is no
 * object. Throws upstream_unavailable.
 */
export async function digestObject(
  store: ObjectStore,
  path: string,
  options: DigestOptions,
): Promise<Observation | PartialObservation | null> {
  const { expectedSize, progress, maxBytesPerCall, signal } = options;
  // Asked first, because hosted Storage leaves Content-Length out of downloads.
  const object = await store.describe(path);
  if (object === null) return null;
  if (object.size !== expectedSize) return { complete: true, size: object.size, sha256: null };

  const hasher = await createSHA256();
  if (progress !== null) hasher.load(Buffer.from(progress.hash_state, "base64"));
  const start = progress?.verified_bytes ?? 0;
  const end = Math.min(expectedSize, start + maxBytesPerCall);
  // Without a range where one would name everything: an object of no bytes has no range at all.
  const isWhole = start === 0 && end === expectedSize;
  const stream = await store.read(path, isWhole ? { signal } : { range: { start, end }, signal });

  const softDeadline = performance.now() + options.maxMillisecondsPerCall;
  let verifiedBytes = start;
  let isOutOfTime = false;
  for await (const chunk of chunksOf(stream)) {
    hasher.update(chunk);
    verifiedBytes += chunk.byteLength;
    isOutOfTime = verifiedBytes < end && performance.now() > softDeadline;
    if (isOutOfTime || verifiedBytes > end) break;
  }
  if (verifiedBytes !== end && !isOutOfTime) {
    // Storage has just said otherwise: this download went wrong, which says nothing about the object.
    throw new ServiceError("upstream_unavailable", {
      cause: new Error("download of another length than asked for"),
    });
  }
  if (verifiedBytes === expectedSize) {
    return { complete: true, size: expectedSize, sha256: hasher.digest("hex") };
  }
  return {
    complete: false,
    verified_bytes: verifiedBytes,
    hash_state: Buffer.from(hasher.save()).toString("base64"),
    object_id: object.id,
    object_version: object.version,
  };
}

/**
 * The stream's chunks, each valid until the next is asked for: all are read into one buffer, which keeps memory
 * flat, where the stream's own chunks would pile up faster than they are collected.
 */
async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader({ mode: "byob" });
  let buffer = new Uint8Array(BUFFER_BYTES);
  try {
    while (true) {
      const { done, value } = await reader.read(buffer);
      if (done) return;
      yield value;
      buffer = new Uint8Array(value.buffer);
    }
  } catch (cause) {
    throw new ServiceError("upstream_unavailable", { cause });
  } finally {
    // Ends the download where it was not read to its end; it may be broken already, which is no further news.
    await reader.cancel().catch(() => {});
  }
}
