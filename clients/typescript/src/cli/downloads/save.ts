import { type FileHandle, link, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import type { ByteStream } from "../../transfer/source.ts";
import { safeName } from "./safe_path.ts";

/** Verified bytes, whose end fails where they are not right: what `AgentFiles.get` gives. */
interface Download {
  readonly body: ByteStream;
  readonly artifact: { readonly artifact_id: string };
}

export interface SaveOptions {
  /** Whether to take the place of a file that is there. Default: false, to fail with EEXIST. */
  readonly overwrite?: boolean;
  /**
   * Looks at the file before its first byte is written, and before it gets its name. Where it
   * throws, the file is removed.
   */
  readonly check?: (file: FileHandle, path: string) => Promise<void>;
}

const nothingToCheck = () => Promise.resolve();

/** What a download that was killed leaves is removed by the next one after so long a silence. */
const STALE_MILLISECONDS = 10 * 60_000;

const BATCH_BYTES = 1024 ** 2;

/**
 * Writes a download to a temporary file beside `path`, and gives it that name once every byte is
 * verified: other programs see the whole file or nothing.
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

/** What the network brings comes in small chunks: in batches, these take fewer writes. */
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

/** Gives a file a name that nothing has yet. Throws EEXIST. */
async function publish(temporary: string, path: string): Promise<void> {
  try {
    await link(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") throw error;
    // Not every file system knows a second name of a file. The name is taken first, by an empty
    // file: who is killed before the next step leaves that, and never a part of the bytes.
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
