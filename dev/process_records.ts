import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { identifyProcess, isRunning, type ProcessIdentity } from "./process_identity.ts";

/**
 * Which processes belong to a state directory, on disk, so that the next start (or `stop`, or `reset`) can end what a
 * stack that was killed with SIGKILL left behind, and nothing else.
 */
export class ProcessRecords {
  readonly #file: string;
  readonly #identities = new Map<string, ProcessIdentity>();
  #writing: Promise<void> = Promise.resolve();

  constructor(stateDir: string) {
    this.#file = recordsFile(stateDir);
  }

  /** Records `pid` under `name`, in place of an earlier process of that name. */
  async set(name: string, pid: number): Promise<void> {
    const identity = await identifyProcess(pid);
    if (identity === null) this.#identities.delete(name);
    else this.#identities.set(name, identity);
    this.#writing = this.#writing.then(() => this.#write());
    await this.#writing;
  }

  async #write(): Promise<void> {
    const unfinished = `${this.#file}.new`;
    await writeFile(unfinished, JSON.stringify(Object.fromEntries(this.#identities)));
    await rename(unfinished, this.#file);
  }
}

/** The processes of `stateDir` that run now, by name. */
export async function runningProcesses(stateDir: string): Promise<Map<string, ProcessIdentity>> {
  const running = new Map<string, ProcessIdentity>();
  for (const [name, identity] of Object.entries(await readRecords(stateDir))) {
    if (await isRunning(identity)) running.set(name, identity);
  }
  return running;
}

/** Ends every recorded process of `stateDir` but the stack itself, and returns the names of those that ran. */
export async function endLeftovers(stateDir: string): Promise<string[]> {
  const leftovers = await runningProcesses(stateDir);
  leftovers.delete(STACK);
  for (const [name, identity] of leftovers) {
    // PostgreSQL: "fast" shutdown, which waits for nobody.
    tell(identity, name === "postgres" ? "SIGINT" : "SIGTERM");
  }
  for (const identity of leftovers.values()) await ensureEnd(identity);
  return [...leftovers.keys()];
}

/** The name under which the stack records itself. */
export const STACK = "stack";

/** Waits up to `patienceMilliseconds` for the end of a process that was told to end, then kills it. */
export async function ensureEnd(
  identity: ProcessIdentity,
  patienceMilliseconds = 10_000,
): Promise<void> {
  const deadline = Date.now() + patienceMilliseconds;
  let killed = false;
  while (await isRunning(identity)) {
    if (!killed && Date.now() > deadline) {
      killed = true;
      tell(identity, "SIGKILL");
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** Sends a signal to a process that may just have ended. */
export function tell(identity: ProcessIdentity, signal: Deno.Signal): void {
  try {
    Deno.kill(identity.pid, signal);
  } catch (cause) {
    if (!(cause instanceof Deno.errors.NotFound)) throw cause;
  }
}

async function readRecords(stateDir: string): Promise<Record<string, ProcessIdentity>> {
  try {
    return JSON.parse(await readFile(recordsFile(stateDir), "utf8"));
  } catch {
    return {};
  }
}

function recordsFile(stateDir: string): string {
  return join(stateDir, "processes.json");
}
