import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { CommandError, reasonOf } from "../../command/command_error.ts";
import { runningProcesses, STACK } from "./process_records.ts";
import { type StateFiles, stateFiles } from "./state_files.ts";

export interface StateLock {
  release(): Promise<void>;
  /** Releases the lock and removes its file, which `release` keeps. */
  remove(): Promise<void>;
}

/**
 * Locks `stateDir` for this process until `release` or the end of the process, however it ends: the
 * operating system holds the lock. Writes this process's id to the file `pid`. Throws CommandError
 * if another process has the lock or nothing can be written.
 */
export async function lockState(stateDir: string): Promise<StateLock> {
  const files = stateFiles(stateDir);
  try {
    // The mode applies only to a new directory. An existing one may hold other things and stays as
    // it is.
    await mkdir(stateDir, { recursive: true, mode: 0o700 });
    await mkdir(files.logs, { recursive: true, mode: 0o700 });
    const lock = await tryLock(files);
    if (lock === null) throw new CommandError(await refusal(stateDir));
    await writeFile(files.pid, `${Deno.pid}\n`, { mode: 0o644 });
    return {
      async release() {
        await rm(files.pid, { force: true });
        lock.close();
      },
      async remove() {
        await rm(files.pid, { force: true });
        await rm(files.lock);
        lock.close();
      },
    };
  } catch (cause) {
    if (cause instanceof CommandError) throw cause;
    throw new CommandError(
      `The state directory ${stateDir} cannot be written (${
        reasonOf(cause)
      }); set STATE_DIR to another one.`,
      { cause },
    );
  }
}

/** The process id of the stack that runs in `stateDir`, or null. */
export async function runningStack(stateDir: string): Promise<number | null> {
  const pid = Number(await readFile(stateFiles(stateDir).pid, "utf8").catch(() => ""));
  const recorded = (await runningProcesses(stateDir)).get(STACK);
  return recorded?.pid === pid && pid !== Deno.pid ? pid : null;
}

/** The locked file, or null if another process has the lock. Closing the file frees the lock. */
async function tryLock({ lock }: StateFiles): Promise<Deno.FsFile | null> {
  for (;;) {
    const file = await Deno.open(lock, { create: true, write: true, mode: 0o644 });
    if (!await file.tryLock(true)) {
      file.close();
      return null;
    }
    // `reset` may have removed the file after it was opened here. A lock on it would then exclude
    // nobody.
    if (await isAt(lock, file)) return file;
    file.close();
  }
}

async function isAt(path: string, file: Deno.FsFile): Promise<boolean> {
  const opened = await file.stat();
  const present = await stat(path).catch(() => null);
  return present?.ino === opened.ino && present?.dev === opened.dev;
}

/** The process id is unknown while a stack has the lock but has not recorded itself yet. */
async function refusal(stateDir: string): Promise<string> {
  const pid = await runningStack(stateDir);
  const process = pid === null ? "" : ` (process ${pid})`;
  return `The service already runs with this state directory${process}; stop it with \`deno task stop\`.`;
}
