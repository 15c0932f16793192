import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { ensureEnd, sendSignal } from "../processes/end_process.ts";
import { readProcess } from "../processes/process_table.ts";

/**
 * Corrects PostgreSQL's own pid file after a crash. If another program now has the recorded process
 * id, PostgreSQL would refuse to start forever, so the file is removed. If the process is a server
 * of this cluster, it is ended. If there is no such process, the file stays: PostgreSQL uses it to
 * see whether parts of the old server are still running.
 */
export async function removeForeignPidFile(clusterDirectory: string): Promise<void> {
  const file = join(clusterDirectory, "postmaster.pid");
  const pid = Number((await readFile(file, "utf8").catch(() => "")).split("\n", 1)[0]);
  if (!Number.isInteger(pid) || pid <= 0) return;
  const entry = await readProcess(pid);
  if (entry === null) return;
  const identity = { pid, startedAt: entry.startedAt };
  // The words are joined, because `ps` does not show where one ends.
  if (` ${entry.command.join(" ")} `.includes(` ${clusterDirectory} `)) {
    sendSignal(identity, "SIGINT");
    await ensureEnd(identity);
  } else {
    await rm(file);
  }
}
