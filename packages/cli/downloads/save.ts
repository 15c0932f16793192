import { type FileHandle, link, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import type { ByteStream } from "../../agent-files/transfer/source.ts";
import { safeName } from "./safe_path.ts";

/** What `AgentFiles.get` returns: the stream ends with an error if its bytes are wrong. */
interface Download {
  readonly body: ByteStream;
  readonly artifact: { readonly artifact_id: string };
}

export interface SaveOptions {
  /** Whether to replace an existing file. Default: false, which fails with EEXIST. */
  readonly overwrite?: boolean;
  /**
   * Checks the file before its first byte is written, and again before it gets its name. If it
   * throws, the file is removed.
   */
  readonly check?: (file: FileHandle, path: string) => Promise<void>;
}

const nothingToCheck = () => Promise.resolve();

/** A download removes the files of killed downloads that were last written this long ago. */
const STALE_MILLISECONDS = 10 * 60_000;

const BATCH_BYTES = 1024 ** 2;

/**
 * Writes a download to a temporary file beside `path`, and renames it once every byte is verified:
 * other programs see the whole file or nothing.
 */
export async function save(
  { body, artifact }: Download,
  path: string,
  { overwrite = false, check = nothingToCheck }: SaveOptions = {},
): Promise<void> {
  const directory = dirname(path);
  const prefix = `.${safeName(artifact.artifact_id)}.`;
  await removeStale(directory, prefix);
  const random = Math.random().toString(36).slice(2);
  const temporary = join(directory, `${prefix}${process.pid}-${random}.part`);
  try {
    await writeAll(body, temporary, check);
    await (overwrite ? rename(temporary, path) : publish(temporary, path));
  } finally {
    await rm(temporary, { force: true });
  }
}

async function writeAll(
  body: ByteStream,
  path: string,
  check: NonNullable<SaveOptions["check"]>,
): Promise<void> {
  const file = await open(path, "wx");
  try {
    await check(file, path);
    await writeInBatches(body, file);
    await file.sync();
    await check(file, path);
  } finally {
    await file.close();
  }
}

/** Collects the network's small chunks into batches, which take fewer writes. */
async function writeInBatches(
  body: ByteStream,
  file: FileHandle,
): Promise<void> {
  const batch = new Uint8Array(BATCH_BYTES);
  let filled = 0;
  const flush = async () => {
    for (let written = 0; written < filled;) {
      written += (await file.write(batch, written, filled - written)).bytesWritten;
    }
    filled = 0;
  };
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    for (let taken = 0; taken < chunk.byteLength;) {
      const part = chunk.subarray(taken, taken + BATCH_BYTES - filled);
      batch.set(part, filled);
      filled += part.byteLength;
      taken += part.byteLength;
      if (filled === BATCH_BYTES) await flush();
    }
  }
  await flush();
}

/** Gives the file its name. Throws EEXIST if the name is taken. */
async function publish(temporary: string, path: string): Promise<void> {
  try {
    await link(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") throw error;
    // Not every file system has hard links. Take the name with an empty file first: a process
    // killed before the next step leaves an empty file, never part of the bytes.
    await (await open(path, "wx")).close();
    await rename(temporary, path);
  }
}

async function removeStale(directory: string, prefix: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (!name.startsWith(prefix) || !name.endsWith(".part")) continue;
    const path = join(directory, basename(name));
    const state = await stat(path).catch(() => null);
    if (state !== null && Date.now() - state.mtimeMs > STALE_MILLISECONDS) {
      await rm(path, { force: true });
    }
  }
}
