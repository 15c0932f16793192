import { readFileSync } from "node:fs";

export const MEBIBYTE = 1024 * 1024;

/** Resident memory of a process in bytes: now (VmRSS), or its peak (VmHWM). */
export function memoryOf(pid: number, figure: "VmRSS" | "VmHWM"): number {
  const line = readFileSync(`/proc/${pid}/status`, "utf8").match(`${figure}:\\s+(\\d+) kB`);
  return Number(line![1]) * 1024;
}

/** A number of bytes as text, such as "12.3 MiB". */
export function inMebibytes(bytes: number): string {
  return `${(bytes / MEBIBYTE).toFixed(1)} MiB`;
}
