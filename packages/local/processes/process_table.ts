import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

/** What the system knows about a running process. */
export interface ProcessEntry {
  /** The parent's process number. */
  readonly parent: number;
  /** When it began, in the system's own notation. Compare it, do not parse it. */
  readonly startedAt: string;
  /** Its program and arguments. Without /proc, an argument that contains spaces is split. */
  readonly command: readonly string[];
}

/** Null if there is no such process. A zombie counts as none. */
export type ReadProcess = (pid: number) => Promise<ProcessEntry | null>;

/** Reads /proc if the system has it, as Linux does, else asks `ps`. */
export async function readProcess(pid: number): Promise<ProcessEntry | null> {
  return await (await hasProc() ? readFromProc : readFromPs)(pid);
}

export const readFromProc: ReadProcess = async (pid) => {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    // proc(5): the name in parentheses may contain anything. After it come the state (field 3) and
    // the parent; field 22 is the start time.
    const [state, parent, ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (state === "Z") return null;
    const command = (await readFile(`/proc/${pid}/cmdline`, "utf8")).split("\0").slice(0, -1);
    return { parent: Number(parent), startedAt: fields[17] ?? "", command };
  } catch {
    return null;
  }
};

export const readFromPs: ReadProcess = async (pid) => {
  const line = await ps(["-ww", "-o", "ppid=,stat=,lstart=,command=", "-p", String(pid)]);
  // ps(1): `lstart` is five words, ending with the year.
  const [, parent, state, startedAt, command] =
    /^\s*(\d+)\s+(\S+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\d{4})\s+(.*?)\s*$/s.exec(line) ?? [];
  if (parent === undefined || state?.startsWith("Z")) return null;
  return { parent: Number(parent), startedAt: startedAt!, command: command!.split(" ") };
};

/** The signals that this process ignores, as a mask whose lowest bit is signal 1. 0 if unknown. */
export async function ignoredSignals(): Promise<bigint> {
  const hex = await hasProc()
    // proc(5)
    ? /^SigIgn:\s*([0-9a-f]+)$/m.exec(await readFile("/proc/self/status", "utf8"))?.[1]
    : (await ignoredSignalsFromPs(Deno.pid));
  return BigInt(`0x${hex ?? "0"}`);
}

/** Hex digits; undefined if `ps` does not know the column. */
export async function ignoredSignalsFromPs(pid: number): Promise<string | undefined> {
  return /^\s*([0-9a-f]+)\s*$/.exec(await ps(["-o", "ignored=", "-p", String(pid)]))?.[1];
}

function hasProc(): Promise<boolean> {
  return readFile("/proc/self/stat").then(() => true, () => false);
}

/** Resolves to "" if `ps` fails: it exits with 1 if there is no such process. */
function ps(args: string[]): Promise<string> {
  const environment = { ...Deno.env.toObject(), LC_ALL: "C" };
  return promisify(execFile)("ps", args, { env: environment })
    .then(({ stdout }) => stdout, () => "");
}
