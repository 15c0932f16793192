/** CPU time of processes, from /proc. Linux only. */
import { readdir, readFile } from "node:fs/promises";
import type { BenchStack } from "../stack/bench_stack.ts";

/** Milliseconds of CPU time by process. */
export interface CpuTime {
  readonly function: number;
  /** Includes Storage, which is in the same process. */
  readonly gateway: number;
  readonly postgrest: number;
  /** The server and all its processes. */
  readonly postgres: number;
}

const MILLISECONDS_PER_TICK = 10;

/**
 * The CPU time that the processes of a stack have used so far. `functionName`: the function to
 * count.
 */
export async function cpuTime({ pids }: BenchStack, functionName: string): Promise<CpuTime> {
  const [functionTime, gateway, postgrest, postgres] = await Promise.all([
    ofProcess(pids[functionName]!),
    ofProcess(pids["stack"]!),
    ofProcess(pids["postgrest"]!),
    ofTree(pids["postgres"]!),
  ]);
  return { function: functionTime, gateway, postgrest, postgres };
}

/** The CPU time between two readings, per request. */
export function cpuPerRequest(before: CpuTime, after: CpuTime, requests: number): CpuTime {
  return {
    function: (after.function - before.function) / requests,
    gateway: (after.gateway - before.gateway) / requests,
    postgrest: (after.postgrest - before.postgrest) / requests,
    postgres: (after.postgres - before.postgres) / requests,
  };
}

async function ofProcess(pid: number): Promise<number> {
  const { user, system } = await readStat(pid);
  return (user + system) * MILLISECONDS_PER_TICK;
}

/** The CPU time of a process, of its running children, and of the children it has reaped. */
async function ofTree(pid: number): Promise<number> {
  const own = await readStat(pid);
  let ticks = own.user + own.system + own.ended;
  for (const name of await readdir("/proc")) {
    if (!/^[0-9]+$/.test(name)) continue;
    const stat = await readStat(Number(name)).catch(() => null);
    if (stat?.parent === pid) ticks += stat.user + stat.system;
  }
  return ticks * MILLISECONDS_PER_TICK;
}

/**
 * Fields of proc_pid_stat(5), read from behind the name, because the name may contain anything. The
 * first of them is the third field of the file.
 */
async function readStat(pid: number) {
  const text = await readFile(`/proc/${pid}/stat`, "utf8");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ").map(Number);
  return {
    parent: fields[1]!,
    user: fields[11]!,
    system: fields[12]!,
    ended: fields[13]! + fields[14]!,
  };
}
