import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

/** One process: a later one that gets the same number has another identity. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When the process began, in the system's own notation. Only to be compared. */
  readonly startedAt: string;
}

/**
 * The identity of a running process, or null when there is none with this number (a zombie counts
 * as none).
 */
export async function identifyProcess(pid: number): Promise<ProcessIdentity | null> {
  const startedAt = Deno.build.os === "linux"
    ? await linuxStartTime(pid)
    : await portableStartTime(pid);
  return startedAt === null ? null : { pid, startedAt };
}

/** Whether this very process still runs. */
export async function isRunning(identity: ProcessIdentity): Promise<boolean> {
  return (await identifyProcess(identity.pid))?.startedAt === identity.startedAt;
}

async function linuxStartTime(pid: number): Promise<string | null> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    // proc(5): the command in parentheses may hold anything; the state is field 3, the start time
    // field 22.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? null : fields[19] ?? null;
  } catch {
    return null;
  }
}

async function portableStartTime(pid: number): Promise<string | null> {
  try {
    const { stdout } = await promisify(execFile)("ps", ["-o", "lstart=", "-p", String(pid)]);
    return stdout.trim() || null;
  } catch {
    return null;
  }
}
