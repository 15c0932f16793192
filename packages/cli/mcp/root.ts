import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readlink, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import process from "node:process";
import { UsageError } from "../../command/usage_error.ts";
import { loginFile, oldLoginFile } from "../login_file.ts";

/** A path that does not lie in the folder, or leads out of it. */
export class OutsideRootError extends Error {
  override readonly name = "OutsideRootError";

  constructor(path: string) {
    super(`${path} is not in the folder that this server may read and write.`);
  }
}

/** A place for a file. Its folder is held open until disposal. */
export interface RootTarget extends AsyncDisposable {
  /**
   * The path to write to. Where possible, it leads through the open folder, even if that is moved.
   */
  readonly path: string;
  /** The path relative to the root. */
  readonly name: string;
}

/**
 * The only folder in which a model may read and write files. Paths are relative to it, or absolute.
 * Symbolic links are followed if they stay inside. A link could replace part of a path after its
 * check, so the location of the open file is checked again before a byte is read or written. The
 * file with the agent key counts as outside.
 */
export class Root {
  /** The real path, without links. */
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

  /** Throws UsageError if there is no such folder. */
  static async open(path: string): Promise<Root> {
    const real = await realpath(path).catch(() => null);
    if (real === null || !(await stat(real)).isDirectory()) {
      throw new UsageError(`${path} is not a folder.`);
    }
    const loginFiles = [loginFile(), oldLoginFile()]
      .map((file) => realpath(file).catch(() => null));
    return new Root(real, resolve(path), await Promise.all(loginFiles));
  }

  /** Opens a file for reading. Throws OutsideRootError and file system errors. */
  async openFile(path: string): Promise<FileHandle> {
    const real = await realpath(this.#resolve(path));
    if (!this.#holds(real)) throw new OutsideRootError(path);
    // O_NONBLOCK: do not wait for the writer of a named pipe. Windows lacks the last two flags.
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

  /** Finds a folder to read. Returns its path without links, or null if it is not a folder. */
  async findFolder(path: string): Promise<string | null> {
    const real = await realpath(this.#resolve(path));
    // The folder that contains the login file is allowed: each file in it is checked when it is
    // read.
    if (!this.#holds(real)) throw new OutsideRootError(path);
    return (await lstat(real)).isDirectory() ? real : null;
  }

  /** Creates the folders of a path to write to, and holds the last one open. */
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

  /** Creates the folders of a path. Returns the path without links. */
  async #prepareTarget(path: string): Promise<string> {
    const target = this.#resolve(path);
    if (target === this.path) throw new OutsideRootError(path);
    let folder = this.path;
    // Create folders one at a time, so that each parent was checked before its child is created.
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

  /**
   * Throws OutsideRootError unless the open file is in the folder now, whatever path was opened.
   */
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

  /** Resolves the text of a path, without following links. */
  #resolve(path: string): string {
    const resolved = resolve(this.path, path);
    if (isWithin(resolved, this.path)) return resolved;
    // The path may begin with the folder as the user named it, which may contain links.
    if (!isWithin(resolved, this.#given)) throw new OutsideRootError(path);
    return join(this.path, relative(this.#given, resolved));
  }

  #holds(real: string): boolean {
    return isWithin(real, this.path) && !this.#loginFiles.includes(real);
  }
}

/** Where an open file is. If Linux's /proc cannot tell, resolves the file's path instead. */
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
