/** CPU time of processes, from /proc. Linux only. */
import { readdir, readFile } from "node:fs/promises";
import type { BenchStack } from "../stack/bench_stack.ts";

/** Milliseconds of CPU by what they were spent for. */
export interface CpuTime {
  readonly function: number;
  /** With Storage, which is in the same process. */
  readonly gateway: number;
  readonly postgrest: number;
  /** The server and every process of it. */
  readonly postgres: number;
}

const MILLISECONDS_PER_TICK = 10;

/** What the processes of a stack have used up to now; `functionName` says which function counts. */
export async function cpuTime({ pids }: BenchStack, functionName: string): Promise<CpuTime> {
  const [functionTime, gateway, postgrest, postgres] = await Promise.all([
    ofProcess(pids[functionName]!),
    ofProcess(pids["stack"]!),
    ofProcess(pids["postgrest"]!),
    ofTree(pids["postgres"]!),
  ]);
  return { function: functionTime, gateway, postgrest, postgres };
}

/** What was used between two times, for each of `requests`. */
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

/** A process, its children now, and those that it has waited for. */
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
 * Fields of proc_pid_stat(5). Those behind the name, which may hold anything, begin at the third.
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
