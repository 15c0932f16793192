import { lstat, mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Task } from "../../agent-files/tasks/task.ts";
import { safeSegments } from "../downloads/safe_path.ts";
import { save } from "../downloads/save.ts";

/**
 * A temporary folder for one task, which only this user can read: the file is in one half, and the
 * program runs in the other. So the file's name, which its giver chose, means nothing to a program
 * that reads `Makefile` or `.npmrc` where it runs.
 */
export class TaskFolder implements AsyncDisposable {
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  static async create(): Promise<TaskFolder> {
    const folder = new TaskFolder(
      await mkdtemp(join(await realpath(tmpdir()), "agentfiles-work-")),
    );
    await mkdir(folder.workplace);
    return folder;
  }

  /** Where the program runs. */
  get workplace(): string {
    return join(this.#path, "work");
  }

  /** Downloads the task's file, and verifies it. Returns its path. */
  async save(task: Task): Promise<string> {
    const inbox = join(this.#path, "file");
    await mkdir(inbox);
    const path = join(inbox, safeSegments(task.key).at(-1)!);
    await save(await task.file(), path);
    return path;
  }

  /**
   * The path of a file that the program wrote. Throws if there is none, or if it is a link: what a
   * program made of somebody else's file must not name a file outside.
   */
  async written(name: string): Promise<string> {
    const path = join(this.workplace, name);
    const state = await lstat(path).catch((cause) => {
      if (cause.code !== "ENOENT" && cause.code !== "ENOTDIR") throw cause;
      throw new Error(`The program did not write ${name}.`, { cause });
    });
    if (!state.isFile() || await realpath(path) !== path) {
      throw new Error(`${name} is a link or a folder, and not a file.`);
    }
    return path;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#path, { recursive: true, force: true });
  }
}
