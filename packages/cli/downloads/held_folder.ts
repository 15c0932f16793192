import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readlink, realpath } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";

/**
 * A folder to write files to, in which no link is followed. On Linux it is held open: files go to
 * this very folder even if something else takes its path meanwhile. On other systems, and where
 * Deno may not read /proc, each folder is checked just before its use.
 */
export class HeldFolder implements AsyncDisposable {
  /** The path to open its files by. */
  readonly path: string;
  /** The path to show to a person. */
  readonly name: string;
  readonly #handle: FileHandle | null;

  private constructor(path: string, name: string, handle: FileHandle | null) {
    this.path = path;
    this.name = name;
    this.#handle = handle;
  }

  /** Opens the user's folder, and creates it if it is missing. Its own path may contain links. */
  static async open(path: string): Promise<HeldFolder> {
    await mkdir(path, { recursive: true });
    return await HeldFolder.#hold(await realpath(path), path);
  }

  /** Opens a folder below, and creates missing ones. Throws if a link or a file is in the way. */
  async enter(first: string, ...rest: readonly string[]): Promise<HeldFolder> {
    let folder = await this.#enterOne(first);
    for (const name of rest) {
      await using outer = folder;
      folder = await outer.#enterOne(name);
    }
    return folder;
  }

  async #enterOne(segment: string): Promise<HeldFolder> {
    const [path, name] = [join(this.path, segment), join(this.name, segment)];
    await mkdir(path).catch((error) => {
      if (error.code !== "EEXIST") throw error;
    });
    if (!(await lstat(path)).isDirectory()) {
      throw new Error(
        `${name} is a link or a file, but must be a folder. Move it away.`,
      );
    }
    return await HeldFolder.#hold(path, name);
  }

  static async #hold(path: string, name: string): Promise<HeldFolder> {
    if (process.platform !== "linux") return new HeldFolder(path, name, null);
    const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
    const handle = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    const held = `/proc/self/fd/${handle.fd}`;
    const isReachable = await readlink(held).then(() => true, () => false);
    return new HeldFolder(isReachable ? held : path, name, handle);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle?.close();
  }
}
