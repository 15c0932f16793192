import { lstat, readdir, realpath } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { createTarPacker } from "modern-tar";
import { openSource, type StreamSource } from "../../transfer/source.ts";

/** A file or folder of the archive. */
export interface TarEntry {
  /** Within the archive. */
  readonly name: string;
  readonly size: number;
}

export interface FolderTar {
  readonly source: StreamSource;
  readonly entries: readonly TarEntry[];
}

interface FoundEntry extends TarEntry {
  /** Null for the listing. */
  readonly path: string | null;
  readonly isDirectory: boolean;
  readonly mode: number;
  readonly modifiedAt: Date;
}

const BLOCK_BYTES = 512;

/**
 * A folder as a tar, made while it is read. The listing of what is in it stands first, beside the
 * folder: who reads the beginning knows what follows. Symbolic links are left out.
 */
export async function folderTar(folder: string): Promise<FolderTar> {
  const name = basename(resolve(folder));
  // The folder itself may be named by a link.
  const found = await walk(await realpath(folder), name);
  const text = found.map(({ size, name }) => `${size}\t${name}\n`).join("");
  const listing = new TextEncoder().encode(text);
  const all: FoundEntry[] = [{
    name: `${name}.listing.tsv`,
    size: listing.byteLength,
    path: null,
    isDirectory: false,
    mode: 0o644,
    modifiedAt: found[0]!.modifiedAt,
  }, ...found];
  return {
    source: { size: await sizeOf(all), stream: () => pack(all, listing) },
    entries: found.map(({ name, size }) => ({ name, size })),
  };
}

/** The folder and all below it, in the order of their names. */
async function walk(path: string, name: string): Promise<FoundEntry[]> {
  const state = await lstat(path);
  const isDirectory = state.isDirectory();
  if (!isDirectory && !state.isFile()) return [];
  const entry: FoundEntry = {
    name: isDirectory ? `${name}/` : name,
    size: isDirectory ? 0 : state.size,
    path,
    isDirectory,
    mode: state.mode & 0o777,
    modifiedAt: state.mtime,
  };
  if (!isDirectory) return [entry];
  const found = [entry];
  for (const child of (await readdir(path)).sort()) {
    found.push(...await walk(join(path, child), `${name}/${child}`));
  }
  return found;
}

function headerOf({ name, isDirectory, mode, modifiedAt }: FoundEntry, size: number) {
  const type = isDirectory ? "directory" as const : "file" as const;
  return { name, size, type, mode, mtime: modifiedAt };
}

/** How long the archive is: its headers are written for empty files, and the bytes are added. */
async function sizeOf(entries: readonly FoundEntry[]): Promise<number> {
  const { readable, controller } = createTarPacker();
  const packing = (async () => {
    for (const entry of entries) await controller.add(headerOf(entry, 0)).close();
    controller.finalize();
  })();
  packing.catch((error) => controller.error(error));
  let size = 0;
  for await (const chunk of readable as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
  }
  return entries.reduce(
    (sum, entry) => sum + Math.ceil(entry.size / BLOCK_BYTES) * BLOCK_BYTES,
    size,
  );
}

function pack(entries: readonly FoundEntry[], listing: Uint8Array): ReadableStream<Uint8Array> {
  const { readable, controller } = createTarPacker();
  const packing = (async () => {
    for (const entry of entries) {
      const writer = controller.add(headerOf(entry, entry.size)).getWriter();
      if (!entry.isDirectory) {
        const source = await openSource(
          entry.path === null ? listing as Uint8Array<ArrayBuffer> : {
            path: entry.path,
          },
        );
        const bytes = await source.read();
        try {
          for (let next = await bytes.next(); !next.done; next = await bytes.next()) {
            await writer.ready;
            await writer.write(next.value);
          }
        } finally {
          await bytes.return?.();
        }
      }
      await writer.close();
    }
    controller.finalize();
  })();
  // A file that grew, shrank or went: the reader of the archive is told.
  packing.catch((error) => controller.error(error));
  return readable;
}
