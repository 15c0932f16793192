import type { ByteStream } from "../../transfer/source.ts";
import { ByteReader } from "./byte_reader.ts";
import { parsePax } from "./pax.ts";
import { refusal } from "./refusal.ts";
import { BLOCK_BYTES, decodeName, isZero, parseHeader } from "./header.ts";

/** A file or folder of an archive. Its name is unchecked. */
export interface TarEntry {
  readonly name: string;
  readonly size: number;
  readonly isDirectory: boolean;
  readonly isExecutable: boolean;
  /** A file's bytes. Bytes that are not read are skipped. */
  readonly body: AsyncGenerator<Uint8Array, void, undefined>;
}

/** A pax or GNU header holds one name. A longer header is meant to exhaust memory. */
const LONGEST_EXTENSION_BYTES = 1024 ** 2;

const REFUSED_TYPES: Readonly<Record<string, string>> = {
  "1": "is a hard link",
  "2": "is a symbolic link",
  "3": "is a device",
  "4": "is a device",
  "6": "is a fifo",
  "S": "is a sparse file",
};

/** What pax and GNU headers say about the entry that follows. */
interface Extension {
  readonly path?: string;
  readonly size?: number;
}

/**
 * Yields the files and folders of a tar, to be read one after another. Throws `archive_refused` for
 * every other type of entry, and for every malformed byte. The library that writes archives could
 * also read them, but treats types that it does not know, such as sparse files, as plain files.
 */
export async function* readTar(
  stream: ByteStream,
): AsyncGenerator<TarEntry, void, undefined> {
  const reader = new ByteReader(stream);
  try {
    let extension: Extension = {};
    while (true) {
      const block = await readBlocks(reader, BLOCK_BYTES);
      if (isZero(block)) return await assertNothingFollows(reader, extension);
      const header = parseHeader(block);
      if (!Number.isSafeInteger(header.size)) {
        throw refusal(header.name, "has an invalid size");
      }
      if ("xgLK".includes(header.type)) {
        extension = {
          ...extension,
          ...await readExtension(reader, header.type, header.size),
        };
        continue;
      }
      yield* entryOf(reader, {
        ...header,
        name: header.name,
        ...renamed(extension),
      });
      extension = {};
    }
  } finally {
    await reader.close();
  }
}

function renamed({ path, size }: Extension) {
  return {
    ...(path !== undefined && { name: path }),
    ...(size !== undefined && { size }),
  };
}

async function* entryOf(
  reader: ByteReader,
  { name, size, mode, type }: ReturnType<typeof parseHeader>,
): AsyncGenerator<TarEntry, void, undefined> {
  const isDirectory = type === "5" || (type === "\0" && name.endsWith("/"));
  if (!isDirectory && !["0", "\0", "7"].includes(type)) {
    throw refusal(
      name,
      REFUSED_TYPES[type] ?? `has the unknown type ${JSON.stringify(type)}`,
    );
  }
  if (isDirectory && size > 0) {
    throw refusal(name, "is a folder with content");
  }
  if (!isDirectory && name.endsWith("/")) {
    throw refusal(name, "is a file with a folder's name");
  }
  let left = size;
  async function* body(): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const piece of reader.pieces(left)) {
      left -= piece.byteLength;
      yield piece;
    }
    if (left > 0) throw truncated();
  }
  const bytes = body();
  yield {
    name,
    size,
    isDirectory,
    isExecutable: (mode & 0o100) !== 0,
    body: bytes,
  };
  // Skip what the reader of the entry left.
  for await (const piece of reader.pieces(left)) left -= piece.byteLength;
  if (left > 0) throw truncated();
  await readBlocks(reader, -size & (BLOCK_BYTES - 1));
}

async function readExtension(
  reader: ByteReader,
  type: string,
  size: number,
): Promise<Extension> {
  if (size > LONGEST_EXTENSION_BYTES) {
    throw refusal(null, "has a header that is too long");
  }
  const bytes = (await readBlocks(reader, size + (-size & (BLOCK_BYTES - 1))))
    .subarray(0, size);
  if (type === "K") return {};
  if (type === "x" || type === "g") {
    return parsePax(bytes, { isGlobal: type === "g" });
  }
  const end = bytes.indexOf(0);
  if (end !== -1 && !isZero(bytes.subarray(end))) {
    throw refusal(null, "has a NUL in a name");
  }
  return { path: decodeName(end === -1 ? bytes : bytes.subarray(0, end)) };
}

/**
 * Requires a second block of zeros, and only zeros after it: other programs might find entries
 * there.
 */
async function assertNothingFollows(
  reader: ByteReader,
  extension: Extension,
): Promise<void> {
  if (Object.keys(extension).length > 0) {
    throw refusal(null, "ends with a header that belongs to no entry");
  }
  if (!isZero(await readBlocks(reader, BLOCK_BYTES))) {
    throw refusal(null, "is damaged");
  }
  for await (const piece of reader.pieces(Infinity)) {
    if (!isZero(piece)) throw refusal(null, "has data after its end");
  }
}

async function readBlocks(
  reader: ByteReader,
  bytes: number,
): Promise<Uint8Array> {
  const read = await reader.read(bytes);
  if (read === null) throw truncated();
  return read;
}

function truncated() {
  return refusal(null, "ends too early");
}
