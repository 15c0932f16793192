import { CommandError } from "../../command/command_error.ts";
import { isRunning, type ProcessIdentity } from "./process_identity.ts";

/**
 * Waits up to `patienceMilliseconds` for the end of a process that was told to end, then kills it.
 */
export async function ensureEnd(
  identity: ProcessIdentity,
  patienceMilliseconds = 10_000,
): Promise<void> {
  const deadline = Date.now() + patienceMilliseconds;
  let killed = false;
  while (await isRunning(identity)) {
    if (!killed && Date.now() > deadline) {
      killed = true;
      sendSignal(identity, "SIGKILL");
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/**
 * Sends a signal to a process that may just have ended. Throws CommandError if the process belongs
 * to another user.
 */
export function sendSignal(identity: ProcessIdentity, signal: Deno.Signal): void {
  try {
    Deno.kill(identity.pid, signal);
  } catch (cause) {
    if (cause instanceof Deno.errors.PermissionDenied) {
      throw new CommandError(
        `Process ${identity.pid} of this state directory belongs to another user: only that user or root can end it.`,
        { cause },
      );
    }
    if (!(cause instanceof Deno.errors.NotFound)) throw cause;
  }
}
