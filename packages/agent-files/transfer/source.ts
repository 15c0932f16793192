import { AgentError, invalidFields } from "../errors/agent_error.ts";
import { nodeModule } from "../platform/node_module.ts";
import { isBrowser } from "../platform/platform.ts";

/**
 * A stream and its size in bytes. If `stream` is a function, a broken upload can be sent again. In
 * a browser, the stream is read into a Blob before it is sent.
 */
export interface StreamSource {
  readonly stream: ByteStream | (() => ByteStream | Promise<ByteStream>);
  readonly size: number;
}

/** A file, in Node and Deno. */
export interface PathSource {
  readonly path: string | URL;
}

/** What can be put. A string is sent as UTF-8 text. */
export type Source =
  | string
  | Uint8Array
  | ArrayBuffer
  | Blob
  | StreamSource
  | PathSource;

export type ByteStream = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/** A source whose size is known. */
export interface OpenedSource {
  readonly size: number;
  /** Whether `read` can be called more than once. */
  readonly isRepeatable: boolean;
  /** A request's body that needs no stream; null for a stream. Browsers cannot send streams. */
  readonly whole: Blob | Uint8Array<ArrayBuffer> | null;
  read(): Promise<AsyncIterator<Uint8Array>>;
}

/** With chunks of twice this size, Node holds 10 MiB more before it frees sent ones. */
const CHUNK_BYTES = 32 * 1024;

/** Throws AgentError `source_unreadable`, `source_size_mismatch` or `invalid_request`. */
export async function openSource(source: Source): Promise<OpenedSource> {
  if (typeof source === "string") {
    return ofBlob(new TextEncoder().encode(source));
  }
  if (source instanceof Blob) return ofBlob(source);
  if (source instanceof ArrayBuffer) return ofBlob(new Uint8Array(source));
  if (source instanceof Uint8Array) {
    return ofBlob(source as Uint8Array<ArrayBuffer>);
  }
  if ("path" in source) return await ofFile(source.path);
  if (!Number.isSafeInteger(source.size) || source.size < 0) {
    const message = "A stream needs its size in bytes, a whole number.";
    throw invalidFields([{ path: "size", message }]);
  }
  return isBrowser ? ofBlob(await blobOf(source)) : ofStream(source);
}

function ofBlob(whole: Blob | Uint8Array<ArrayBuffer>): OpenedSource {
  return {
    size: whole instanceof Blob ? whole.size : whole.byteLength,
    isRepeatable: true,
    whole,
    read: () =>
      Promise.resolve(
        whole instanceof Blob ? iterate(whole.stream()) : slices(whole),
      ),
  };
}

function ofStream({ stream, size }: StreamSource): OpenedSource {
  const isRepeatable = typeof stream === "function";
  return {
    size,
    isRepeatable,
    whole: null,
    async read() {
      return iterate(isRepeatable ? await stream() : stream);
    },
  };
}

/**
 * The bytes of a stream as a Blob, which a browser keeps on disk if it is large. Over HTTP/1.1, and
 * in Firefox and Safari over any version, a browser refuses to send a stream.
 */
async function blobOf({ stream, size }: StreamSource): Promise<Blob> {
  const parts: BlobPart[] = [];
  let actual = 0;
  for await (
    const bytes of iterate(
      typeof stream === "function" ? await stream() : stream,
    )
  ) {
    actual += bytes.byteLength;
    if (actual > size) break;
    // Blobs can leave the memory: the browser decides where it keeps them.
    parts.push(new Blob([bytes as Uint8Array<ArrayBuffer>]));
  }
  if (actual !== size) throw sizeMismatch({ expected: size, actual });
  return new Blob(parts);
}

export function sizeMismatch(
  details: { readonly expected: number; readonly actual: number },
): AgentError {
  return new AgentError({
    code: "source_size_mismatch",
    message: "The source no longer has its initial size. Upload it again when nothing " +
      "changes it.",
    details,
  });
}

async function ofFile(path: string | URL): Promise<OpenedSource> {
  const fs = await nodeModule<typeof import("node:fs/promises")>(
    "node:fs/promises",
  );
  if (fs === null) {
    const message = "There are no files on this platform. Pass bytes, a Blob or a stream.";
    throw invalidFields([{ path: "path", message }]);
  }
  const stats = await fs.stat(path).catch((cause) => {
    throw new AgentError({
      code: "source_unreadable",
      message: cause.message,
      cause,
    });
  });
  if (stats.isDirectory()) {
    const message = `${path} is a folder, not a file.`;
    throw new AgentError({ code: "source_unreadable", message });
  }
  if (!stats.isFile()) {
    const message = `${path} is a pipe or a device, whose size is not known. Pass a stream and ` +
      "its size.";
    throw new AgentError({ code: "source_unreadable", message });
  }
  const { size } = stats;
  return {
    size,
    isRepeatable: true,
    whole: null,
    read: () => Promise.resolve(fileBytes()),
  };

  async function* fileBytes(): AsyncGenerator<Uint8Array> {
    const file = await fs!.open(path).catch((cause) => {
      throw new AgentError({
        code: "source_unreadable",
        message: cause.message,
        cause,
      });
    });
    try {
      while (true) {
        // A new array each time: the last one may still be on its way to the network.
        const { bytesRead, buffer } = await file.read(
          new Uint8Array(CHUNK_BYTES),
          0,
          CHUNK_BYTES,
        );
        if (bytesRead === 0) return;
        yield buffer.subarray(0, bytesRead);
      }
    } finally {
      await file.close();
    }
  }
}

/** Yields slices, so that hashing leaves time for other work. */
async function* slices(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES) {
    yield bytes.subarray(start, start + CHUNK_BYTES);
  }
}

/** The chunks of a stream, which is cancelled when its reader stops. */
export async function* iterate(stream: ByteStream): AsyncGenerator<Uint8Array> {
  if (Symbol.asyncIterator in stream) {
    yield* stream;
    return;
  }
  // Safari's streams are not async iterables.
  const reader = (stream as ReadableStream<Uint8Array>).getReader();
  try {
    while (true) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel();
  }
}
