import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * The absolute paths of every file and folder that a state directory may hold. No other module
 * names them.
 */
export interface StateFiles {
  /** What programs and tests need to reach the running stack, as KEY=VALUE lines. */
  readonly env: string;
  /** The project's secrets. */
  readonly keys: string;
  /** The key that signs the tokens of users. */
  readonly authKey: string;
  /** Locked while a stack runs here. It is empty, and stays when the stack ends. */
  readonly lock: string;
  /** The process id of the stack, for `stop` and for people. */
  readonly pid: string;
  /** Which processes belong to this state directory. */
  readonly processRecords: string;
  /** The folder of all logs. */
  readonly logs: string;
  /** The folder of the objects' bytes. */
  readonly storage: string;
  /** The folder of PostgreSQL's files, if these are in the state directory. */
  readonly postgres: string;
  /** Says where PostgreSQL's files are, if they are elsewhere. */
  readonly postgresHome: string;
  /** The report of a test run. Only a state directory that the test runner made has one. */
  readonly testReport: string;
  /** The log of one process. */
  logFile(processName: string): string;
}

export function stateFiles(stateDir: string): StateFiles {
  const logs = join(stateDir, "logs");
  return {
    env: join(stateDir, "env"),
    keys: join(stateDir, "keys.json"),
    authKey: join(stateDir, "auth_key.json"),
    lock: join(stateDir, "lock"),
    pid: join(stateDir, "pid"),
    processRecords: join(stateDir, "processes.json"),
    logs,
    storage: join(stateDir, "storage"),
    postgres: join(stateDir, "postgres"),
    postgresHome: join(stateDir, "postgres_home"),
    testReport: join(stateDir, "junit.xml"),
    logFile: (processName) => join(logs, `${processName}.log`),
  };
}

/** Where `file` is written before it is renamed, so that nobody reads half of it. */
export function unfinishedFile(file: string): string {
  return `${file}.new`;
}

/** Writes a file that only this user can read, whole or not at all. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  const unfinished = unfinishedFile(path);
  await writeFile(unfinished, text, { mode: 0o600 });
  await rename(unfinished, path);
}

/**
 * What `reset` removes, in this order, after PostgreSQL's files and before the lock. The process
 * records go last, so that an interrupted reset can be repeated.
 */
export function filesToReset(stateDir: string): string[] {
  const { authKey, env, keys, logs, pid, processRecords, storage } = stateFiles(stateDir);
  return [env, keys, authKey, logs, pid, storage, processRecords]
    .flatMap((file) => [unfinishedFile(file), file]);
}

/** All that remains of a start that died before it recorded itself. Its folder of logs is empty. */
export function filesOfBareStart(stateDir: string): string[] {
  const { lock, logs, pid, processRecords } = stateFiles(stateDir);
  return [lock, logs, pid, unfinishedFile(processRecords)];
}
