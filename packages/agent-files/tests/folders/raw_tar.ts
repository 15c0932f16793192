/** Writes tar archives byte by byte, including invalid ones that no program writes. */

const BLOCK = 512;
const encoder = new TextEncoder();

export interface RawHeader {
  readonly name?: string | Uint8Array;
  readonly type?: string;
  readonly body?: string | Uint8Array;
  /** The size in the header, instead of the body's. */
  readonly size?: number | Uint8Array;
  readonly mode?: number;
  readonly link?: string;
  readonly prefix?: string;
  readonly magic?: string;
  /** A number that is added to the correct checksum. */
  readonly wrong?: number;
}

export function bytesOf(text: string | Uint8Array): Uint8Array {
  return typeof text === "string" ? encoder.encode(text) : text;
}

export function join(...parts: readonly (string | Uint8Array)[]): Uint8Array {
  const all = parts.map(bytesOf);
  const joined = new Uint8Array(all.reduce((sum, { length }) => sum + length, 0));
  let offset = 0;
  for (const part of all) {
    joined.set(part, offset);
    offset += part.length;
  }
  return joined;
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0");
}

/** A header and its body. */
export function entry(
  { name = "file", type = "0", body = "", size, mode = 0o644, link = "", prefix = "", ...given }:
    RawHeader,
): Uint8Array {
  const bytes = bytesOf(body);
  const block = new Uint8Array(BLOCK);
  const put = (offset: number, text: string | Uint8Array) => block.set(bytesOf(text), offset);
  put(0, bytesOf(name).subarray(0, 100));
  put(100, octal(mode, 7));
  put(108, octal(0, 7));
  put(116, octal(0, 7));
  put(124, size instanceof Uint8Array ? size : octal(size ?? bytes.length, 11));
  put(136, octal(0, 11));
  put(156, type);
  put(157, link);
  put(257, given.magic ?? "ustar\x0000");
  put(345, prefix);
  block.fill(0x20, 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0) + (given.wrong ?? 0);
  put(148, `${octal(sum, 6)}\0 `);
  return join(block, bytes, new Uint8Array(-bytes.length & (BLOCK - 1)));
}

/** One record of a pax header. */
export function record(keyword: string, value: string): string {
  const rest = ` ${keyword}=${value}\n`;
  const length = encoder.encode(rest).length;
  let total = length + String(length).length;
  total = length + String(total).length;
  return `${total}${rest}`;
}

export function pax(records: Readonly<Record<string, string>>, type = "x"): Uint8Array {
  const body = Object.entries(records).map(([keyword, value]) => record(keyword, value)).join("");
  return entry({ name: "pax", type, body });
}

export const END: Uint8Array = new Uint8Array(2 * BLOCK);

/** A whole archive. */
export function tar(...parts: readonly Uint8Array[]): Uint8Array {
  return join(...parts, END);
}
