import { readFile, realpath, rename, writeFile } from "node:fs/promises";
import { ensureEnd, sendSignal } from "../processes/end_process.ts";
import { identifyProcess, isRunning, type ProcessIdentity } from "../processes/process_identity.ts";
import { stateFiles, unfinishedFile } from "./state_files.ts";

/** The name under which the stack records itself. */
export const STACK = "stack";

interface ProcessRecord extends ProcessIdentity {
  /**
   * The real path of the state directory that recorded the process. A copy of that directory has
   * another path.
   */
  readonly stateDir: string;
}

/**
 * Records on disk which processes belong to a state directory. After a stack was killed with
 * SIGKILL, the next start (or `stop`, or `reset`) can end what it left running, and nothing else.
 */
export class ProcessRecords {
  readonly #stateDir: string;
  readonly #records = new Map<string, ProcessRecord>();
  #writing: Promise<void> = Promise.resolve();

  constructor(stateDir: string) {
    this.#stateDir = stateDir;
  }

  /** Records `pid` under `name`, replacing an earlier process of that name. */
  async set(name: string, pid: number): Promise<void> {
    const identity = await identifyProcess(pid);
    if (identity === null) this.#records.delete(name);
    else this.#records.set(name, { ...identity, stateDir: await realpath(this.#stateDir) });
    this.#writing = this.#writing.then(() => this.#write());
    await this.#writing;
  }

  async #write(): Promise<void> {
    const file = stateFiles(this.#stateDir).processRecords;
    const unfinished = unfinishedFile(file);
    await writeFile(unfinished, JSON.stringify(Object.fromEntries(this.#records)));
    await rename(unfinished, file);
  }
}

/** Whether a stack ever recorded itself in `stateDir`. */
export async function hasRecords(stateDir: string): Promise<boolean> {
  return await readRecords(stateDir) !== null;
}

/**
 * The processes of `stateDir` that run now, by name. If `stateDir` is a copy of another state
 * directory, omits the processes of the other.
 */
export async function runningProcesses(stateDir: string): Promise<Map<string, ProcessIdentity>> {
  const running = new Map<string, ProcessIdentity>();
  for (const [name, record] of Object.entries(await readRecords(stateDir) ?? {})) {
    if (!await isRunning(record) || await isCopied(stateDir, name, record)) continue;
    running.set(name, { pid: record.pid, startedAt: record.startedAt });
  }
  return running;
}

/** Whether another state directory recorded the process, and still records it. */
async function isCopied(stateDir: string, name: string, record: ProcessRecord): Promise<boolean> {
  if (record.stateDir === await realpath(stateDir)) return false;
  const original = (await readRecords(record.stateDir))?.[name];
  return original?.pid === record.pid && original.startedAt === record.startedAt;
}

/**
 * Ends every recorded process of `stateDir` except the stack itself. Returns the names of the
 * processes that were running.
 */
export async function endLeftovers(stateDir: string): Promise<string[]> {
  const leftovers = await runningProcesses(stateDir);
  leftovers.delete(STACK);
  for (const [name, identity] of leftovers) {
    // For PostgreSQL, SIGINT is the "fast" shutdown, which does not wait for clients.
    sendSignal(identity, name === "postgres" ? "SIGINT" : "SIGTERM");
  }
  for (const identity of leftovers.values()) await ensureEnd(identity);
  return [...leftovers.keys()];
}

/** Null if there is no such file, or another program wrote it. */
async function readRecords(stateDir: string): Promise<Record<string, ProcessRecord> | null> {
  try {
    const records = JSON.parse(await readFile(stateFiles(stateDir).processRecords, "utf8"));
    const isObject = typeof records === "object" && !Array.isArray(records);
    return isObject && Object.values(records).every(isRecord) ? records : null;
  } catch {
    return null;
  }
}

function isRecord(value: unknown): value is ProcessRecord {
  const { pid, startedAt, stateDir } = Object(value);
  return Number.isInteger(pid) && pid > 0 && typeof startedAt === "string" &&
    typeof stateDir === "string";
}
