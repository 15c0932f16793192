import type { FileHandle } from "node:fs/promises";
import { createTarPacker } from "modern-tar";
import { AgentError } from "../errors/agent_error.ts";
import type { StreamSource } from "../transfer/source.ts";
import { excessOf } from "./entry_path.ts";
import { type NodeModules, nodeModules } from "./node.ts";
import { type LeftOut, listingName, type PackedEntry, type WalkOptions } from "./packed.ts";
import { refusalToPack } from "./tar/refusal.ts";
import { type FoundEntry, walk } from "./walk.ts";

export interface PackedFolder {
  /** The tar, made while it is read. */
  readonly source: StreamSource;
  readonly entries: readonly PackedEntry[];
  /** Links, fifos, sockets, devices and names that are not UTF-8, which are not packed. */
  readonly leftOut: readonly LeftOut[];
  /** The packed entries whose name begins with a dot. */
  readonly hidden: readonly string[];
}

export interface PackOptions extends WalkOptions {
  /** Checks each open file before its first byte is read. Throws if the file must not be read. */
  readonly check?:
    | ((file: FileHandle, path: string) => Promise<void>)
    | undefined;
}

const BLOCK_BYTES = 512;
const CHUNK_BYTES = 64 * 1024;

/**
 * Packs a folder as a tar. A listing of its content comes first, beside the folder, so that a
 * reader knows early what follows. Only files and folders are packed. Throws `archive_refused` for
 * what `get` would not extract.
 */
export async function packFolder(
  folder: string,
  options: PackOptions = {},
): Promise<PackedFolder> {
  const node = await nodeModules();
  const name = node.path.basename(node.path.resolve(folder)) || "root";
  const excess = excessOf(listingName(name));
  if (excess !== null) throw refusalToPack(name, excess);
  // The path of the folder itself may be a link.
  const { found, leftOut, hidden } = await walk(
    node,
    await node.fs.realpath(folder),
    name,
    options,
  );
  const entries = found.map(({ name, size }) => ({ name, size }));
  const text = entries.map(({ size, name }) => `${size}\t${name}\n`).join("");
  const listing: Listing = {
    name: listingName(name),
    bytes: new TextEncoder().encode(text),
    mode: 0o644,
    modifiedAt: found[0]!.modifiedAt,
  };
  return {
    source: {
      size: await sizeOf(listing, found),
      stream: () => pack(node, listing, found, options),
    },
    entries,
    leftOut,
    hidden,
  };
}

interface Listing extends Pick<FoundEntry, "name" | "mode" | "modifiedAt"> {
  readonly bytes: Uint8Array;
}

type Named = Pick<FoundEntry, "name" | "mode" | "modifiedAt"> & {
  readonly isDirectory?: boolean;
};

function headerOf(
  { name, isDirectory = false, mode, modifiedAt }: Named,
  size: number,
) {
  const type = isDirectory ? "directory" as const : "file" as const;
  return { name, size, type, mode, mtime: modifiedAt };
}

/** The size of the archive: packs empty files to count the headers, and adds the files' sizes. */
async function sizeOf(
  listing: Listing,
  found: readonly FoundEntry[],
): Promise<number> {
  const { readable, controller } = createTarPacker();
  const packing = (async () => {
    await controller.add(headerOf(listing, 0)).close();
    for (const entry of found) await controller.add(headerOf(entry, 0)).close();
    controller.finalize();
  })();
  packing.catch((error) => controller.error(error));
  let size = padded(listing.bytes.byteLength);
  for await (const chunk of readable as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
  }
  return found.reduce((sum, entry) => sum + padded(entry.size), size);
}

function padded(bytes: number): number {
  return Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES;
}

function pack(
  node: NodeModules,
  listing: Listing,
  found: readonly FoundEntry[],
  options: PackOptions,
): ReadableStream<Uint8Array> {
  const { readable, controller } = createTarPacker();
  const add = async (
    entry: Named,
    size: number,
    bytes: AsyncIterable<Uint8Array>,
  ) => {
    const writer = controller.add(headerOf(entry, size)).getWriter();
    for await (const chunk of bytes) {
      await writer.ready;
      await writer.write(chunk);
    }
    await writer.close();
  };
  const packing = (async () => {
    await add(listing, listing.bytes.byteLength, only(listing.bytes));
    for (const entry of found) {
      await add(
        entry,
        entry.size,
        entry.isDirectory ? only() : bytesOf(node, entry, options),
      );
    }
    controller.finalize();
  })();
  // If a file grew, shrank or disappeared, the reader of the archive gets the error.
  packing.catch((error) => controller.error(error));
  return readable;
}

async function* only(...chunks: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

async function* bytesOf(
  { fs, constants }: NodeModules,
  { path, name, size }: FoundEntry,
  { check }: PackOptions,
): AsyncGenerator<Uint8Array> {
  // O_NONBLOCK: do not wait for the writer of a named pipe. Windows lacks the last two flags.
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  const file = await fs.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const state = await file.stat();
    if (!state.isFile() || state.size !== size) throw changed(name);
    await check?.(file, path);
    let left = size;
    while (true) {
      // A new buffer for each chunk: the network may still be sending the last one.
      const chunk = new Uint8Array(Math.min(CHUNK_BYTES, left + 1));
      const { bytesRead } = await file.read(chunk, 0, chunk.byteLength);
      left -= bytesRead;
      if (left < 0 || (bytesRead === 0 && left > 0)) throw changed(name);
      if (bytesRead === 0) return;
      yield chunk.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

function changed(name: string): AgentError {
  return new AgentError({
    code: "source_size_mismatch",
    message: `${name} has changed while it was read. Put the folder when nobody changes it.`,
  });
}
