import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { ServiceError } from "../../_shared/request/errors.ts";
import { ObjectGone, type ObjectStore, type StoredObject } from "./object_store.ts";

/** Large enough not to slow down a download. A smaller object gets a smaller buffer. */
const MAX_BUFFER_BYTES = 1024 ** 2;

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
  /** Lower-case hex; null if the size alone already decides. */
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
  /** What the database knew of the object when the call began; the size may be missing. */
  readonly known: Omit<StoredObject, "size"> & { readonly size: number | null };
  /**
   * Whether this call has moved the object to its path. If so, its version differs from the known
   * one. If a PUT came in between, it is even another object, perhaps of another size.
   */
  readonly isJustMoved: boolean;
  /** The progress with this very object. Null: nothing has been read yet. */
  readonly progress: Progress | null;
  readonly maxBytesPerCall: number;
  /** After this time, the call ends, and a later one continues. */
  readonly maxMillisecondsPerCall: number;
  /** Aborts the reading, without a result. */
  readonly signal: AbortSignal;
}

/**
 * Reads the object at `path` in constant memory. Returns its size and digest, or how far the
 * reading came. Throws upstream_unavailable, misconfigured, ObjectGone.
 *
 * An object that fits into one call is read at once, with the platform's hash. It is up to four
 * times as fast as the hash whose state can be saved, but if the time runs out, nothing is saved.
 * The next call then sees that the object was moved before, and reads it in parts. So a slow
 * Storage costs one more call, but does not fail every call.
 */
export async function digestObject(
  store: ObjectStore,
  path: string,
  options: DigestOptions,
): Promise<Observation | PartialObservation> {
  const { expectedSize, known, isJustMoved } = options;
  const isReadAtOnce = isJustMoved && expectedSize <= options.maxBytesPerCall;
  if (isReadAtOnce && known.size === expectedSize) return await digestAtOnce(store, path, options);

  const object = isJustMoved ? null : withSize(known);
  const { id, version, size } = object ?? await describe(store, path);
  // The size is not taken from the download: hosted Storage leaves Content-Length out.
  if (size !== expectedSize) return { complete: true, size, sha256: null };
  return isReadAtOnce
    ? await digestAtOnce(store, path, options)
    : await digestPart(store, path, { ...options, id, version });
}

async function digestAtOnce(
  store: ObjectStore,
  path: string,
  options: DigestOptions,
): Promise<Observation> {
  const { expectedSize, signal } = options;
  const hash = createHash("sha256");
  // No range, because an empty object has none.
  const stream = await store.read(path, { signal });
  const { bytes, isOutOfTime } = await feed(stream, {
    ...options,
    maxBytes: expectedSize,
    update: (chunk) => hash.update(chunk),
  });
  if (bytes === expectedSize) {
    return { complete: true, size: expectedSize, sha256: hash.digest("hex") };
  }
  if (isOutOfTime) throw unavailable("no time to read the whole object");
  const { size } = await describe(store, path);
  if (size !== expectedSize) return { complete: true, size, sha256: null };
  throw unavailable("download of another length than the object");
}

async function digestPart(
  store: ObjectStore,
  path: string,
  options: DigestOptions & { readonly id: string; readonly version: string },
): Promise<Observation | PartialObservation> {
  const { expectedSize, progress, maxBytesPerCall, signal } = options;
  // Loaded only here, because its code is WebAssembly, which has to be compiled first.
  const { createSHA256 } = await import("hash-wasm");
  const hasher = await createSHA256();
  if (progress !== null) hasher.load(Buffer.from(progress.hash_state, "base64"));
  const start = progress?.verified_bytes ?? 0;
  const end = Math.min(expectedSize, start + maxBytesPerCall);
  const isWhole = start === 0 && end === expectedSize;
  const stream = await store.read(path, isWhole ? { signal } : { range: { start, end }, signal });

  const { bytes, isOutOfTime } = await feed(stream, {
    ...options,
    maxBytes: end - start,
    update: (chunk) => hasher.update(chunk),
  });
  if (bytes !== end - start && !isOutOfTime) {
    // Storage has stated another size, so the download went wrong. The object may be right.
    throw unavailable("download of another length than asked for");
  }
  if (start + bytes === expectedSize) {
    return { complete: true, size: expectedSize, sha256: hasher.digest("hex") };
  }
  return {
    complete: false,
    verified_bytes: start + bytes,
    hash_state: Buffer.from(hasher.save()).toString("base64"),
    object_id: options.id,
    object_version: options.version,
  };
}

/** Reads until the stream ends, has more than `maxBytes`, or the time is over. */
async function feed(
  stream: ReadableStream<Uint8Array>,
  { maxBytes, maxMillisecondsPerCall, update }: {
    readonly maxBytes: number;
    readonly maxMillisecondsPerCall: number;
    readonly update: (chunk: Uint8Array) => void;
  },
): Promise<{ bytes: number; isOutOfTime: boolean }> {
  const softDeadline = performance.now() + maxMillisecondsPerCall;
  let bytes = 0;
  let isOutOfTime = false;
  for await (const chunk of chunksOf(stream, Math.min(maxBytes + 1, MAX_BUFFER_BYTES))) {
    update(chunk);
    bytes += chunk.byteLength;
    isOutOfTime = bytes < maxBytes && performance.now() > softDeadline;
    if (isOutOfTime || bytes > maxBytes) break;
  }
  return { bytes, isOutOfTime };
}

/**
 * The stream's chunks, each valid until the next is asked for. They share one buffer: separate
 * buffers would pile up faster than they are garbage-collected.
 */
async function* chunksOf(
  stream: ReadableStream<Uint8Array>,
  bufferBytes: number,
): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader({ mode: "byob" });
  let buffer = new Uint8Array(bufferBytes);
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
    // Ends a download that was not read to its end. An error of a broken download is ignored.
    await reader.cancel().catch(() => {});
  }
}

function withSize({ id, version, size }: DigestOptions["known"]): StoredObject | null {
  return size === null ? null : { id, version, size };
}

async function describe(store: ObjectStore, path: string): Promise<StoredObject> {
  const object = await store.describe(path);
  if (object === null) throw new ObjectGone("Storage has no object at the path");
  return object;
}

function unavailable(reason: string): ServiceError {
  return new ServiceError("upstream_unavailable", { cause: new Error(reason) });
}
