import { Buffer } from "node:buffer";
import { createSHA256 } from "hash-wasm";
import { ServiceError } from "../_shared/errors.ts";
import type { ObjectStore } from "./object_store.ts";

const BUFFER_BYTES = 64 * 1024;

/** How far the hashing of one object has come. */
export interface Progress {
  readonly verified_bytes: number;
  /** The state of SHA-256 after these bytes, in base64. */
  readonly hash_state: string;
}

/** The whole object was read, or its size alone shows that it is wrong. */
export interface Observation {
  readonly complete: true;
  /** In bytes. */
  readonly size: number;
  /** Lower-case hex; null where the size alone already decides. */
  readonly sha256: string | null;
}

/** There is more to read than one call may read. */
export interface PartialObservation extends Progress {
  readonly complete: false;
  readonly object_id: string;
  readonly object_version: string;
}

export interface DigestOptions {
  /** In bytes. */
  readonly expectedSize: number;
  /** Of this very object. Null: none is read yet. */
  readonly progress: Progress | null;
  readonly maxBytesPerCall: number;
  /** After this, the call ends with the progress that it has made, and the next one goes on. */
  readonly maxMillisecondsPerCall: number;
  /** Ends the reading without a result. */
  readonly signal: AbortSignal;
}

/**
 * Reads the object at `path` in constant memory and says what it is, or how far the reading came.
 * Null when there is no object. Throws upstream_unavailable.
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
  // Without a range where all is read: an empty object has no range at all.
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
    // Storage has just told another size: the download went wrong, the object may be right.
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
 * The stream's chunks, each valid until the next is asked for. All are read into one buffer: chunks
 * of their own would pile up faster than they are collected.
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
    // Ends a download that was not read to its end. That it is broken already does not matter.
    await reader.cancel().catch(() => {});
  }
}
