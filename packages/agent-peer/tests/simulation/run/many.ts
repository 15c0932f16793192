import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const RANGE = fileURLToPath(new URL("./range.ts", import.meta.url));
const ROOT = new URL("../../../../../", import.meta.url);

/** How many seeds a process runs. Its first ten take twice as long: V8 compiles the code. */
const SHARE = 250;
/** Fewer with a file, as the progress is written down after each share. */
const SHARE_WRITTEN_DOWN = 50;

export interface Failure {
  readonly seed: number;
  readonly findings: readonly string[];
}

interface Progress {
  /** The first seeds of the shares that are done. */
  readonly done: number[];
  readonly failures: Failure[];
}

/**
 * Runs seeds in several processes. With a file for the progress, a run that was interrupted goes on
 * where it was.
 */
export async function runMany(
  { from, count, processes, file, onShare = () => {} }: {
    readonly from: number;
    readonly count: number;
    readonly processes: number;
    readonly file: string | null;
    readonly onShare?: (done: number) => void;
  },
): Promise<readonly Failure[]> {
  const progress = await readProgress(file);
  const size = file === null ? SHARE : SHARE_WRITTEN_DOWN;
  const shares = Array.from(
    { length: Math.ceil(count / size) },
    (_, index) => from + size * index,
  )
    .filter((share) => !progress.done.includes(share));
  async function work(): Promise<void> {
    for (let share; (share = shares.shift()) !== undefined;) {
      const failures = await runShare(share, Math.min(share + size, from + count));
      progress.failures.push(...failures);
      progress.done.push(share);
      if (file !== null) await writeProgress(file, progress);
      onShare(Math.min(count, size * progress.done.length));
    }
  }
  await Promise.all(Array.from({ length: processes }, work));
  return progress.failures.sort((one, other) => one.seed - other.seed);
}

async function runShare(from: number, end: number): Promise<Failure[]> {
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-check", "--allow-all", RANGE, String(from), String(end)],
    cwd: ROOT,
    stderr: "inherit",
  }).output();
  if (code !== 0) throw new Error(`The process for the seeds from ${from} has failed.`);
  const lines = new TextDecoder().decode(stdout).split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line));
}

async function readProgress(file: string | null): Promise<Progress> {
  const text = file === null ? null : await readFile(file, "utf8").catch(() => null);
  return text === null ? { done: [], failures: [] } : JSON.parse(text);
}

async function writeProgress(file: string, progress: Progress): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, JSON.stringify(progress));
}
