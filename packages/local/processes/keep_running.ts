import { reasonOf } from "../../command/command_error.ts";

export interface RunningProcess {
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

export interface KeepRunningOptions {
  readonly name: string;
  /** Starts the process. Called again, after a pause, whenever the process has ended. */
  readonly start: () => Promise<RunningProcess>;
  readonly onProgress: (line: string) => void;
}

const FIRST_PAUSE_MILLISECONDS = 100;
const LONGEST_PAUSE_MILLISECONDS = 5_000;
const LONG_ENOUGH_MILLISECONDS = 10_000;

/** Starts a process and keeps it running until `stop`. Rejects if the first start fails. */
export async function keepRunning(options: KeepRunningOptions): Promise<{ stop(): Promise<void> }> {
  const stopping = Promise.withResolvers<void>();
  let isStopping = false;
  let current: RunningProcess | null = await options.start();
  const watching = watch();

  async function watch(): Promise<void> {
    let pause = FIRST_PAUSE_MILLISECONDS;
    let startedAt = Date.now();
    while (!isStopping) {
      if (current !== null) {
        const how = await Promise.race([current.ended, stopping.promise]);
        if (isStopping) return;
        if (Date.now() - startedAt > LONG_ENOUGH_MILLISECONDS) pause = FIRST_PAUSE_MILLISECONDS;
        options.onProgress(`${options.name} ended (${how}) and is started again.`);
        current = null;
      }
      await Promise.race([
        new Promise((resolve) => setTimeout(resolve, pause)),
        stopping.promise,
      ]);
      if (isStopping) return;
      pause = Math.min(pause * 2, LONGEST_PAUSE_MILLISECONDS);
      startedAt = Date.now();
      current = await options.start().catch((cause) => {
        options.onProgress(`${options.name} could not be started again: ${reasonOf(cause)}`);
        return null;
      });
    }
  }

  return {
    async stop() {
      isStopping = true;
      stopping.resolve();
      await watching;
      await current?.stop();
    },
  };
}
