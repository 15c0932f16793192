import { open, rm, stat, utimes } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** A lock file that was not touched for this long belongs to a process that has ended. */
const STALE_MILLISECONDS = 20_000;
const TOUCH_MILLISECONDS = 5_000;
const PAUSE_MILLISECONDS = 50;

/** Runs `work` under a lock file, which one process of this machine can hold at a time. */
export async function withLockFile<Result>(
  file: string,
  work: () => Promise<Result>,
): Promise<Result> {
  while (!await isTaken(file)) await sleep(PAUSE_MILLISECONDS);
  const touching = setInterval(() => {
    const now = new Date();
    utimes(file, now, now).catch(() => {});
  }, TOUCH_MILLISECONDS);
  try {
    return await work();
  } finally {
    clearInterval(touching);
    await rm(file, { force: true });
  }
}

/** Tries to take the lock. Returns false if another process has it. */
async function isTaken(file: string): Promise<boolean> {
  try {
    await (await open(file, "wx", 0o600)).close();
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause;
  }
  const lock = await stat(file).catch(() => null);
  if (lock !== null && Date.now() - lock.mtimeMs > STALE_MILLISECONDS) {
    await rm(file, { force: true });
  }
  return false;
}
