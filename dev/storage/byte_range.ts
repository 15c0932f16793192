import { storageErrors } from "./storage_error.ts";

/** The first byte and the number of bytes of an answer. */
export interface ByteRange {
  readonly start: number;
  readonly length: number;
}

/**
 * Reads a Range header for an object of `size` bytes: `bytes=0-4`, `bytes=5-` or `bytes=-3`. Null
 * without the header. Anything else, several ranges and junk included, is a StorageError of HTTP
 * 416, as on the real server.
 */
export function parseRange(header: string | undefined, size: number): ByteRange | null {
  if (header === undefined) return null;
  const [, first, last] = /^bytes=([0-9]*)-([0-9]*)$/.exec(header.trim()) ?? [];
  if (first === undefined || last === undefined || first + last === "") {
    throw storageErrors.invalidRange();
  }
  const start = first === "" ? Math.max(size - Number(last), 0) : Number(first);
  const end = first === "" || last === "" ? size : Math.min(Number(last) + 1, size);
  if (end <= start) throw storageErrors.invalidRange();
  return { start, length: end - start };
}
