import { nodeModule } from "../platform/node_module.ts";

/** A stream and how many bytes it gives; a function that gives the stream can be asked again. */
export interface StreamSource {
  readonly stream: ByteStream | (() => ByteStream | Promise<ByteStream>);
  readonly size: number;
}

/** A file, in Node and Deno. */
export interface PathSource {
  readonly path: string | URL;
}

/** What can be put. A string is its text, in UTF-8. */
export type Source = string | Uint8Array | ArrayBuffer | Blob | StreamSource | PathSource;

export type ByteStream = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/** A source whose size is known. */
export interface OpenedSource {
  readonly size: number;
  /** Whether `read` can be called more than once. */
  readonly isRepeatable: boolean;
  /** The body of a request as it is, where that needs no stream. Browsers send no streams. */
  readonly whole: Blob | Uint8Array<ArrayBuffer> | null;
  read(): Promise<AsyncIterator<Uint8Array>>;
}

/** With twice as much, Node holds 10 MiB more before it frees what was sent. */
const CHUNK_BYTES = 32 * 1024;

/** Throws what opening the file throws, or TypeError. */
export async function openSource(source: Source): Promise<OpenedSource> {
  if (typeof source === "string") return ofBlob(new TextEncoder().encode(source));
  if (source instanceof Blob) return ofBlob(source);
  if (source instanceof ArrayBuffer) return ofBlob(new Uint8Array(source));
  if (source instanceof Uint8Array) return ofBlob(source as Uint8Array<ArrayBuffer>);
  if ("path" in source) return await ofFile(source.path);
  if (!Number.isSafeInteger(source.size) || source.size < 0) {
    throw new TypeError("A stream needs its size in bytes.");
  }
  return ofStream(source);
}

function ofBlob(whole: Blob | Uint8Array<ArrayBuffer>): OpenedSource {
  return {
    size: whole instanceof Blob ? whole.size : whole.byteLength,
    isRepeatable: true,
    whole,
    read: () => Promise.resolve(whole instanceof Blob ? iterate(whole.stream()) : slices(whole)),
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

async function ofFile(path: string | URL): Promise<OpenedSource> {
  const fs = await nodeModule<typeof import("node:fs/promises")>("node:fs/promises");
  if (fs === null) throw new TypeError("There are no files here: put bytes, a Blob or a stream.");
  const { size } = await fs.stat(path);
  return { size, isRepeatable: true, whole: null, read: () => Promise.resolve(fileBytes()) };

  async function* fileBytes(): AsyncGenerator<Uint8Array> {
    const file = await fs!.open(path);
    try {
      while (true) {
        // Its own each time: what is on its way to the network is not to be written over.
        const { bytesRead, buffer } = await file.read(new Uint8Array(CHUNK_BYTES), 0, CHUNK_BYTES);
        if (bytesRead === 0) return;
        yield buffer.subarray(0, bytesRead);
      }
    } finally {
      await file.close();
    }
  }
}

/** Slices, so that what is hashed leaves time for other work. */
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
  // Safari's streams are no async iterables.
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
