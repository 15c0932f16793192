/** A lock that was not touched for this long belongs to a process that has ended. */
const STALE_MILLISECONDS = 20_000;
const TOUCH_MILLISECONDS = 5_000;
const PAUSE_MILLISECONDS = 50;

type Files = Pick<
  typeof import("node:fs/promises"),
  "mkdir" | "readdir" | "rename" | "rm" | "rmdir" | "stat" | "utimes" | "writeFile"
>;

/**
 * Runs `work` under a lock, which one process of this machine can hold at a time. `files` is
 * `node:fs/promises`, which browsers do not have. The Python client keeps to the same rules.
 *
 * The lock is a folder with one file, whose name each holder chooses at random. Only a folder with
 * no file in it can be replaced, and a file can be renamed by its old name only once. So of several
 * processes that find the lock of a killed one, a single one takes it over, and a holder that was
 * suspended for too long does not release the lock of its successor.
 */
export async function withLock<Result>(
  files: Files,
  lock: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const name = crypto.randomUUID();
  const file = `${lock}/${name}`;
  while (!await isTaken(files, { lock, name })) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MILLISECONDS));
  }
  const touching = setInterval(() => void touch(files, file).catch(() => {}), TOUCH_MILLISECONDS);
  try {
    return await work();
  } finally {
    clearInterval(touching);
    await files.rm(file, { force: true });
    await removeIfEmpty(files, lock);
  }
}

interface Taking {
  readonly lock: string;
  readonly name: string;
}

/** Tries to take the lock. Returns false if another process has it. */
async function isTaken(files: Files, { lock, name }: Taking): Promise<boolean> {
  const holders = await files.readdir(lock).catch(unless("ENOENT"));
  if (holders === null) return await isMade(files, { lock, name });
  const [holder] = holders;
  if (holder === undefined) {
    // Its holder ended while it released the lock.
    await removeIfEmpty(files, lock);
    return await isMade(files, { lock, name });
  }
  const file = `${lock}/${holder}`;
  const state = await files.stat(file).catch(unless("ENOENT"));
  if (state === null || Date.now() - state.mtimeMs <= STALE_MILLISECONDS) return false;
  // First, so that the file is not old under its new name.
  const takeOver = touch(files, file).then(() => files.rename(file, `${lock}/${name}`));
  return await takeOver.then(() => true).catch(unless("ENOENT")) ?? false;
}

/** Makes the lock together with its file: others never see it without one while it is held. */
async function isMade(files: Files, { lock, name }: Taking): Promise<boolean> {
  const made = `${lock}.${name}`;
  await files.mkdir(made, { mode: 0o700 });
  try {
    await files.writeFile(`${made}/${name}`, "");
    await files.rename(made, lock);
    return true;
  } catch (cause) {
    await files.rm(made, { recursive: true, force: true });
    // Another process made it first. Windows reports that as EPERM or EACCES.
    unless("ENOTEMPTY", "EEXIST", "EPERM", "EACCES")(cause);
    return false;
  }
}

async function touch(files: Files, file: string): Promise<void> {
  const now = new Date();
  await files.utimes(file, now, now);
}

async function removeIfEmpty(files: Files, lock: string): Promise<void> {
  await files.rmdir(lock).catch(() => {});
}

/** Returns null for an error of these codes, and throws every other one. */
function unless(...codes: readonly string[]): (cause: unknown) => null {
  return (cause) => {
    if (codes.includes((cause as { code?: string }).code ?? "")) return null;
    throw cause;
  };
}
