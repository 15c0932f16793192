/** A lock file that was not touched for this long belongs to a process that has ended. */
const STALE_MILLISECONDS = 20_000;
const TOUCH_MILLISECONDS = 5_000;
const PAUSE_MILLISECONDS = 50;

type Files = Pick<
  typeof import("node:fs/promises"),
  "open" | "rm" | "stat" | "utimes"
>;

/**
 * Runs `work` under a lock file, which one process of this machine can hold at a time. `files` is
 * `node:fs/promises`, which browsers do not have. The Python client keeps to the same rules.
 */
export async function withLockFile<Result>(
  files: Files,
  file: string,
  work: () => Promise<Result>,
): Promise<Result> {
  while (!await isTaken(files, file)) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MILLISECONDS));
  }
  const touching = setInterval(() => {
    const now = new Date();
    files.utimes(file, now, now).catch(() => {});
  }, TOUCH_MILLISECONDS);
  try {
    return await work();
  } finally {
    clearInterval(touching);
    await files.rm(file, { force: true });
  }
}

/** Tries to take the lock. Returns false if another process has it. */
async function isTaken(files: Files, file: string): Promise<boolean> {
  try {
    await (await files.open(file, "wx", 0o600)).close();
    return true;
  } catch (cause) {
    if ((cause as { code?: string }).code !== "EEXIST") throw cause;
  }
  const lock = await files.stat(file).catch(() => null);
  if (lock !== null && Date.now() - lock.mtimeMs > STALE_MILLISECONDS) {
    await files.rm(file, { force: true });
  }
  return false;
}
