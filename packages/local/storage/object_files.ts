import { copyFile, link, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";

/**
 * The bytes of the objects: one file per version of an object, named after the version. The rows of
 * `storage.objects` decide which versions are live.
 */
export class ObjectFiles {
  readonly #objects: string;
  readonly #uploads: string;
  readonly #durable: boolean;

  private constructor(directory: string, options: { readonly durable: boolean }) {
    this.#objects = join(directory, "objects");
    this.#uploads = join(directory, "uploads");
    this.#durable = options.durable;
  }

  /**
   * Opens `directory`, and makes it if needed. Removes uploads that were under way when the stack
   * was killed.
   */
  static async open(
    directory: string,
    options: { readonly durable: boolean },
  ): Promise<ObjectFiles> {
    const files = new ObjectFiles(directory, options);
    await rm(files.#uploads, { recursive: true, force: true });
    await mkdir(files.#uploads, { recursive: true, mode: 0o700 });
    await mkdir(files.#objects, { recursive: true, mode: 0o700 });
    return files;
  }

  /**
   * Writes a new version as its bytes arrive, and returns its size in bytes. Throws what `bytes`
   * throws, and then leaves nothing of the version.
   */
  async receive(version: string, bytes: AsyncIterable<Uint8Array>): Promise<number> {
    const unfinished = join(this.#uploads, version);
    try {
      const file = await Deno.open(unfinished, { createNew: true, write: true, mode: 0o600 });
      try {
        for await (const chunk of bytes) await writeAll(file, chunk);
      } finally {
        file.close();
      }
      if (this.#durable) await flush(unfinished);
      const { size } = await stat(unfinished);
      await rename(unfinished, this.#path(version));
      return size;
    } catch (cause) {
      await rm(unfinished, { force: true });
      throw cause;
    }
  }

  /** The bytes of `range`. Rejects with Deno.errors.NotFound if there is no such version. */
  async read(
    version: string,
    range: { readonly start: number; readonly length: number },
  ): Promise<ReadableStream<Uint8Array>> {
    const file = await Deno.open(this.#path(version), { read: true });
    await file.seek(range.start, Deno.SeekMode.Start);
    return streamOf(file, range.length);
  }

  /** Makes the bytes of `version` available as another version too. */
  async duplicate(version: string, newVersion: string): Promise<void> {
    await link(this.#path(version), this.#path(newVersion));
  }

  /** Like `duplicate`, but copies the bytes. */
  async copy(version: string, newVersion: string): Promise<void> {
    await copyFile(this.#path(version), this.#path(newVersion));
  }

  async remove(version: string): Promise<void> {
    await rm(this.#path(version), { force: true });
  }

  /**
   * Removes every version that is not in `live`. A crash between writing a file and its row leaves
   * one.
   */
  async keepOnly(live: ReadonlySet<string>): Promise<void> {
    for (const version of await readdir(this.#objects)) {
      if (!live.has(version)) await this.remove(version);
    }
  }

  #path(version: string): string {
    return join(this.#objects, version);
  }
}

async function writeAll(file: Deno.FsFile, chunk: Uint8Array): Promise<void> {
  for (let written = 0; written < chunk.length;) {
    written += await file.write(chunk.subarray(written));
  }
}

const CHUNK_BYTES = 256 * 1024;

function streamOf(file: Deno.FsFile, length: number): ReadableStream<Uint8Array> {
  let remaining = length;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const chunk = new Uint8Array(Math.min(CHUNK_BYTES, remaining));
      const read = remaining === 0 ? null : await file.read(chunk);
      if (read === null) {
        file.close();
        controller.close();
        return;
      }
      remaining -= read;
      controller.enqueue(chunk.subarray(0, read));
    },
    cancel() {
      file.close();
    },
  });
}

async function flush(path: string): Promise<void> {
  const handle = await open(path, "r+");
  await handle.sync();
  await handle.close();
}
