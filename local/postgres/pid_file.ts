import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { ensureEnd, sendSignal } from "../processes/end_process.ts";
import { readProcess } from "../processes/process_table.ts";

/**
 * Makes PostgreSQL's own pid file tell the truth after a crash. When the process that it names is
 * another program by now, PostgreSQL would refuse to start for ever: the file is removed. When that
 * process is a server of this cluster, it is ended. When there is no such process, the file stays:
 * by it PostgreSQL sees whether parts of the old server are still there.
 */
export async function removeForeignPidFile(clusterDirectory: string): Promise<void> {
  const file = join(clusterDirectory, "postmaster.pid");
  const pid = Number((await readFile(file, "utf8").catch(() => "")).split("\n", 1)[0]);
  if (!Number.isInteger(pid) || pid <= 0) return;
  const entry = await readProcess(pid);
  if (entry === null) return;
  const identity = { pid, startedAt: entry.startedAt };
  // The words are joined, because `ps` does not tell where one ends.
  if (` ${entry.command.join(" ")} `.includes(` ${clusterDirectory} `)) {
    sendSignal(identity, "SIGINT");
    await ensureEnd(identity);
  } else {
    await rm(file);
  }
}
