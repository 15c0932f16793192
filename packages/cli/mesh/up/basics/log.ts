import { writeSync } from "node:fs";

/** Writes one line of the log. */
export type Log = (text: string) => void;

/**
 * A log on standard error. A message may quote the service, so it is cut, and control characters
 * are replaced. A log that cannot be written, as on a full disk, ends nothing.
 */
export function logOf(interfaceName: string): Log {
  return (text) => {
    const line = text.slice(0, 1000).replace(/[^ -~]/g, "?");
    try {
      writeSync(2, `${interfaceName}: ${line}\n`);
    } catch {
      // Nobody can be told.
    }
  };
}
