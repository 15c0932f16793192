import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { ensureEnd, sendSignal } from "../processes/end_process.ts";
import { identifyProcess } from "../processes/process_identity.ts";

/**
 * After a crash, PostgreSQL's own pid file may name a process that has since become somebody else's; PostgreSQL would
 * refuse to start for ever. That file is removed. A server of this very cluster that still runs is ended. A file that
 * names nobody stays: PostgreSQL uses it to see whether parts of the old server are still there.
 */
export async function removeForeignPidFile(clusterDirectory: string): Promise<void> {
  const file = join(clusterDirectory, "postmaster.pid");
  const pid = Number((await readFile(file, "utf8").catch(() => "")).split("\n", 1)[0]);
  if (!Number.isInteger(pid) || pid <= 0) return;
  const identity = await identifyProcess(pid);
  if (identity === null) return;
  const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => null);
  if (command === null) return;
  if (command.split("\0").includes(clusterDirectory)) {
    sendSignal(identity, "SIGINT");
    await ensureEnd(identity);
  } else {
    await rm(file);
  }
}
