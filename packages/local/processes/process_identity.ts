import { readProcess } from "./process_table.ts";

/** One process. A later process with the same number has another identity. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When the process began, in the system's own notation. Compare it, do not parse it. */
  readonly startedAt: string;
}

/**
 * The identity of a running process, or null if no process has this number. A zombie does not
 * count.
 */
export async function identifyProcess(pid: number): Promise<ProcessIdentity | null> {
  const entry = await readProcess(pid);
  return entry === null ? null : { pid, startedAt: entry.startedAt };
}

/** Whether exactly this process still runs. */
export async function isRunning(identity: ProcessIdentity): Promise<boolean> {
  return (await identifyProcess(identity.pid))?.startedAt === identity.startedAt;
}
