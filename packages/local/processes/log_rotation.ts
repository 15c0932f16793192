import { copyFile, readdir, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import { reasonOf } from "../../command/command_error.ts";

export interface LogRotationOptions {
  /** The folder of the logs. Every `*.log` in it is kept short. */
  readonly directory: string;
  readonly onProgress: (line: string) => void;
  /** Default: 16 MiB. */
  readonly maxBytes?: number;
  /** Default: 10 seconds. */
  readonly milliseconds?: number;
}

/**
 * Keeps logs short until `stop`. Each log has at most about `maxBytes`, and as much again in
 * `<name>.1`.
 */
export function startLogRotation(
  { directory, onProgress, maxBytes = 16 * 1024 ** 2, milliseconds = 10_000 }: LogRotationOptions,
): { stop(): Promise<void> } {
  let rotating = Promise.resolve();
  const timer = setInterval(() => {
    rotating = rotating.then(() => rotateLogs(directory, maxBytes)).catch((cause) => {
      onProgress(`The logs could not be shortened: ${reasonOf(cause)}`);
    });
  }, milliseconds);
  return {
    async stop() {
      clearInterval(timer);
      await rotating;
    },
  };
}

/**
 * Moves the text of every log that is longer than `maxBytes` to `<name>.1`, replacing the old one.
 * The text is copied and the log truncated, because the process keeps appending to the same file.
 * What the process writes between the copy and the truncation is lost.
 */
export async function rotateLogs(directory: string, maxBytes: number): Promise<void> {
  for (const name of await readdir(directory)) {
    const log = join(directory, name);
    if (!name.endsWith(".log") || (await stat(log)).size <= maxBytes) continue;
    await copyFile(log, `${log}.1`);
    await truncate(log);
  }
}
