import { mkdir, open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { runningProcesses, STACK } from "./process_records.ts";
import { CommandError, reasonOf } from "../command/command_error.ts";

/**
 * Makes `stateDir` this process's own, by a file `pid` in it. A pid file whose process is gone is taken over. Throws
 * CommandError when another stack runs there or nothing can be written.
 */
export async function lockState(stateDir: string): Promise<{ release(): Promise<void> }> {
  try {
    await mkdir(join(stateDir, "logs"), { recursive: true, mode: 0o755 });
    const pidFile = join(stateDir, "pid");
    const pid = await runningStack(stateDir);
    if (pid !== null) {
      throw new CommandError(
        `The service already runs with this state directory (process ${pid}); stop it with \`deno task stop\`.`,
      );
    }
    await rm(pidFile, { force: true });
    const file = await open(pidFile, "wx", 0o644);
    await file.writeFile(`${Deno.pid}\n`);
    await file.close();
    return { release: () => rm(pidFile, { force: true }) };
  } catch (cause) {
    if (cause instanceof CommandError) throw cause;
    throw new CommandError(
      `The state directory ${stateDir} cannot be written (${
        reasonOf(cause)
      }); set STATE_DIR to another one.`,
      { cause },
    );
  }
}

/** The process id of the stack that runs with `stateDir`, or null. */
export async function runningStack(stateDir: string): Promise<number | null> {
  const pid = Number(await readFile(join(stateDir, "pid"), "utf8").catch(() => ""));
  const recorded = (await runningProcesses(stateDir)).get(STACK);
  return recorded?.pid === pid && pid !== Deno.pid ? pid : null;
}
