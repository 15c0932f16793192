import { refusal } from "./refusal.ts";

export const BLOCK_BYTES = 512;

/** A header block by itself. Preceding pax and GNU headers may override its name and size. */
export interface TarHeader {
  readonly name: string;
  readonly size: number;
  readonly mode: number;
  /** One character; files of old archives have a NUL. */
  readonly type: string;
}

const CHECKSUM = { start: 148, end: 156 };
// `ignoreBOM` keeps a byte order mark as part of the name.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Throws `archive_refused` for a block whose checksum is wrong, or that is not a header. */
export function parseHeader(block: Uint8Array): TarHeader {
  if (numberAt(block, CHECKSUM.start, 8) !== checksumOf(block)) {
    const isGzip = block[0] === 0x1f && block[1] === 0x8b;
    throw refusal(
      null,
      isGzip ? "is compressed: only a plain tar is extracted" : "is damaged or is not a tar",
    );
  }
  // Only POSIX headers have a prefix. GNU's headers, with `ustar` and spaces, have other fields
  // there.
  const isPosix = textAt(block, 257, 6) === "ustar" && block[263] === 0x30;
  const prefix = isPosix ? textAt(block, 345, 155) : "";
  const name = textAt(block, 0, 100);
  return {
    name: prefix === "" ? name : `${prefix}/${name}`,
    size: numberAt(block, 124, 12),
    mode: numberAt(block, 100, 8),
    type: String.fromCharCode(block[156]!),
  };
}

export function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0);
}

export function decodeName(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw refusal(null, "has a name that is not UTF-8");
  }
}

/** Text that ends at a NUL, or fills its field. */
function textAt(block: Uint8Array, start: number, length: number): string {
  const field = block.subarray(start, start + length);
  const end = field.indexOf(0);
  return decodeName(end === -1 ? field : field.subarray(0, end));
}

/** Octal digits or, if the first bit is set, GNU's big-endian bytes. */
function numberAt(block: Uint8Array, start: number, length: number): number {
  const field = block.subarray(start, start + length);
  if (field[0]! === 0x80) {
    const value = field.subarray(1).reduce((sum, byte) => sum * 256 + byte, 0);
    return Number.isSafeInteger(value) ? value : NaN;
  }
  const text = String.fromCharCode(...field).replace(/^[ \0]+|[ \0]+$/g, "");
  return /^[0-7]*$/.test(text) ? Number.parseInt(text || "0", 8) : NaN;
}

function checksumOf(block: Uint8Array): number {
  return block.reduce(
    (sum, byte, index) => sum + (index >= CHECKSUM.start && index < CHECKSUM.end ? 0x20 : byte),
    0,
  );
}
