import { identifyProcess } from "../processes/process_identity.ts";
import { ensureEnd, sendSignal } from "../processes/end_process.ts";
import { endLeftovers } from "../state/process_records.ts";
import { runTask } from "../../command/run_task.ts";
import { runningStack } from "../state/state_lock.ts";
import { stateDirectory } from "./options.ts";

/** Longer than the stack waits for its slowest child. */
const PATIENCE_MILLISECONDS = 30_000;

/**
 * Ends the stack of `stateDir`, and whatever a killed stack left running, and waits until all of it
 * has ended. Returns a sentence that says what was ended.
 */
export async function stopStack(stateDir: string): Promise<string> {
  const pid = await runningStack(stateDir);
  const identity = pid === null ? null : await identifyProcess(pid);
  if (identity !== null) {
    sendSignal(identity, "SIGTERM");
    await ensureEnd(identity, PATIENCE_MILLISECONDS);
  }
  const leftovers = await endLeftovers(stateDir);
  if (identity !== null) return "Stopped.";
  return leftovers.length > 0
    ? `The service had been killed; ended what it left running: ${leftovers.join(", ")}.`
    : "The service is not running.";
}

if (import.meta.main) {
  await runTask({
    task: "stop",
    summary: "End the service that runs.",
    example: "deno task stop",
    run: async () => console.log(await stopStack(stateDirectory())),
  });
}
