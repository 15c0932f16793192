import { createSHA256 } from "hash-wasm";
import { ServiceError } from "../_shared/errors.ts";
import type { ObjectStore } from "./object_store.ts";

const BUFFER_BYTES = 64 * 1024;

export interface Observation {
  /** In bytes. Where it differs from the expected size it may be less than the object's whole size. */
  readonly size: number;
  /** Lower-case hex; null where the size alone already decides. */
  readonly sha256: string | null;
}

/**
 * Reads the object at `path` in constant memory and says what is there. Ends as soon as there are more bytes than
 * `expectedSize`. Null when there is no object. Throws upstream_unavailable.
 */
export async function digestObject(
  store: ObjectStore,
  path: string,
  { expectedSize, signal }: { expectedSize: number; signal: AbortSignal },
): Promise<Observation | null> {
  // Asked first, because hosted Storage leaves Content-Length out of downloads.
  const size = await store.size(path);
  if (size === null) return null;
  if (size !== expectedSize) return { size, sha256: null };

  const hasher = await createSHA256();
  let readBytes = 0;
  for await (const chunk of chunksOf(await store.read(path, signal))) {
    hasher.update(chunk);
    readBytes += chunk.byteLength;
    if (readBytes > expectedSize) return { size: readBytes, sha256: null };
  }
  if (readBytes < expectedSize) {
    // Storage said otherwise a moment ago: the download was cut off, which says nothing about the object.
    throw new ServiceError("upstream_unavailable", { cause: new Error("download ended early") });
  }
  return { size, sha256: hasher.digest("hex") };
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
