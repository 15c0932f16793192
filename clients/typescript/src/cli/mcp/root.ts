import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readlink, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import process from "node:process";
import { UsageError } from "../command/usage_error.ts";
import { loginFile, oldLoginFile } from "../login_file.ts";

/** A path that does not lie in the folder, or leads out of it. */
export class OutsideRootError extends Error {
  override readonly name = "OutsideRootError";

  constructor(path: string) {
    super(`${path} is not in the folder that this server may read and write.`);
  }
}

/** A place for a file, whose folder is held until this is disposed of. */
export interface RootTarget extends AsyncDisposable {
  /** What to write to: by the folder that is held, where the platform can, whatever its path is. */
  readonly path: string;
  /** From the root. */
  readonly name: string;
}

/**
 * The one folder whose files a model may name. Paths are relative to it, or absolute. Symbolic
 * links are followed as long as they stay within; where one is put in a path's way between two
 * looks at it, the open file itself is asked where it lies, before a byte is read or written. The
 * file with the agent's key counts as outside.
 */
export class Root {
  /** Without a link in it. */
  readonly path: string;
  readonly #given: string;
  readonly #loginFiles: readonly (string | null)[];

  private constructor(
    path: string,
    given: string,
    loginFiles: readonly (string | null)[],
  ) {
    this.path = path;
    this.#given = given;
    this.#loginFiles = loginFiles;
  }

  /** Throws UsageError where there is no such folder. */
  static async open(path: string): Promise<Root> {
    const real = await realpath(path).catch(() => null);
    if (real === null || !(await stat(real)).isDirectory()) {
      throw new UsageError(`${path} is not a folder.`);
    }
    const loginFiles = [loginFile(), oldLoginFile()]
      .map((file) => realpath(file).catch(() => null));
    return new Root(real, resolve(path), await Promise.all(loginFiles));
  }

  /** Opens a file for reading. Throws OutsideRootError, and what the file system throws. */
  async openFile(path: string): Promise<FileHandle> {
    const real = await realpath(this.#resolve(path));
    if (!this.#holds(real)) throw new OutsideRootError(path);
    // It waits for nobody who writes to a pipe. Windows has neither flag.
    const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
    const file = await open(real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      await this.assertHolds(file, real);
      if (!(await file.stat()).isFile()) {
        throw new Error(`${path} is not a file.`);
      }
      return file;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** A folder that is to be read: its path without links, or null where it is not a folder. */
  async findFolder(path: string): Promise<string | null> {
    const real = await realpath(this.#resolve(path));
    // The folder with the agent's key is no other: each file is looked at when it is read.
    if (!this.#holds(real)) throw new OutsideRootError(path);
    return (await lstat(real)).isDirectory() ? real : null;
  }

  /** Makes the folders of a path that is to be written, and holds the last of them. */
  async openTarget(path: string): Promise<RootTarget> {
    const real = await this.#prepareTarget(path);
    const name = relative(this.path, real);
    if (process.platform !== "linux") {
      return {
        path: real,
        name,
        [Symbol.asyncDispose]: () => Promise.resolve(),
      };
    }
    const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
    const folder = await open(
      dirname(real),
      O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
    );
    try {
      await this.assertHolds(folder, dirname(real));
      const held = pathOfOpen(folder);
      const isReachable = await readlink(held).then(() => true, () => false);
      return {
        path: isReachable ? join(held, basename(real)) : real,
        name,
        [Symbol.asyncDispose]: () => folder.close(),
      };
    } catch (error) {
      await folder.close();
      throw error;
    }
  }

  /** Returns the path without links. */
  async #prepareTarget(path: string): Promise<string> {
    const target = this.#resolve(path);
    if (target === this.path) throw new OutsideRootError(path);
    let folder = this.path;
    // One by one: each is made in one that was looked at.
    for (
      const name of relative(this.path, dirname(target)).split(sep).filter(
        Boolean,
      )
    ) {
      const next = join(folder, name);
      await mkdir(next).catch((error) => {
        if (error.code !== "EEXIST") throw error;
      });
      folder = await realpath(next);
      if (!this.#holds(folder)) throw new OutsideRootError(path);
    }
    const real = join(folder, basename(target));
    if (!this.#holds(real)) throw new OutsideRootError(path);
    return real;
  }

  /** Throws OutsideRootError unless the open file lies in the folder, whatever its name is. */
  async assertHolds(file: FileHandle, path: string): Promise<void> {
    const [real, opened] = [
      await realPathOf(file, path),
      await file.stat({ bigint: true }),
    ];
    const found = this.#holds(real) ? await lstat(real, { bigint: true }) : null;
    if (
      found === null || found.ino !== opened.ino || found.dev !== opened.dev
    ) {
      throw new OutsideRootError(path);
    }
  }

  /** Where a path leads, as far as its text tells. */
  #resolve(path: string): string {
    const resolved = resolve(this.path, path);
    if (isWithin(resolved, this.path)) return resolved;
    // By the name that the folder was given with, which may have a link in it.
    if (!isWithin(resolved, this.#given)) throw new OutsideRootError(path);
    return join(this.path, relative(this.#given, resolved));
  }

  #holds(real: string): boolean {
    return isWithin(real, this.path) && !this.#loginFiles.includes(real);
  }
}

/** Linux tells where an open file lies. Elsewhere, and where Deno may not ask, its name has to. */
async function realPathOf(file: FileHandle, path: string): Promise<string> {
  return await readlink(pathOfOpen(file)).catch(() => realpath(path));
}

function pathOfOpen(file: FileHandle): string {
  return `/proc/self/fd/${file.fd}`;
}

function isWithin(path: string, folder: string): boolean {
  return path === folder ||
    path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}
