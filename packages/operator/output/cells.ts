import { inBytes } from "../../command/terminal/output.ts";

/** An instant to the second, such as `2026-01-31T09:30:00Z`; empty for null. */
export function instantCell(timestamp: string | null): string {
  return timestamp === null ? "" : timestamp.replace(/\.\d{3}Z$/, "Z");
}

/** The amount held and, if there is a limit, the limit. */
export function ofLimit(
  held: number,
  limit: number,
  inWords: (amount: number) => string = String,
): string {
  return limit === 0 ? inWords(held) : `${inWords(held)} of ${inWords(limit)}`;
}

/** Like `ofLimit`, in bytes. */
export function bytesOfLimit(held: number, limit: number): string {
  return ofLimit(held, limit, inBytes);
}
