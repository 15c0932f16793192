import { findLaunchers } from "./launchers.ts";
import { isRunning } from "./process_identity.ts";
import { ignoredSignals } from "./process_table.ts";

const LOOK_AGAIN_MILLISECONDS = 500;
const SIGHUP_NUMBER = 1n;

/**
 * Waits for a reason to stop: SIGINT, SIGTERM, the end of the terminal, or the end of the processes
 * that started this one. Resolves to a sentence that names the reason.
 */
export async function stopRequest(): Promise<string> {
  const launchers = await findLaunchers();
  const signals: Deno.Signal[] = ["SIGINT", "SIGTERM"];
  // nohup ignores SIGHUP, but Deno does not keep that setting.
  if (await ignoresHangup()) Deno.addSignalListener("SIGHUP", () => {});
  else signals.push("SIGHUP");
  return new Promise((resolve) => {
    for (const signal of signals) {
      Deno.addSignalListener(signal, () => resolve(`Stopping (${signal}) …`));
    }
    const timer = setInterval(async () => {
      const running = await Promise.all(launchers.map(isRunning));
      if (!running.includes(false)) return;
      clearInterval(timer);
      resolve("Stopping (the process that started the service has ended) …");
    }, LOOK_AGAIN_MILLISECONDS);
  });
}

async function ignoresHangup(): Promise<boolean> {
  return (await ignoredSignals() >> (SIGHUP_NUMBER - 1n) & 1n) === 1n;
}
