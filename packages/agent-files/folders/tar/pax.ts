import { refusal } from "./refusal.ts";
import { decodeName } from "./header.ts";

/**
 * Reads an entry's name and size from a pax header (`<length> <keyword>=<value>\n`, POSIX pax,
 * "Extended Header"). Ignores other keywords, but refuses those of sparse files. Throws
 * `archive_refused`.
 */
export function parsePax(
  bytes: Uint8Array,
  { isGlobal }: { readonly isGlobal: boolean },
): { path?: string; size?: number } {
  const found: { path?: string; size?: number } = {};
  for (let offset = 0; offset < bytes.length;) {
    const space = bytes.indexOf(0x20, offset);
    const digits = space === -1
      ? ""
      : String.fromCharCode(...bytes.subarray(offset, space).subarray(0, 9));
    const end = /^[1-9][0-9]{0,7}$/.test(digits) ? offset + Number(digits) : NaN;
    const equals = bytes.indexOf(0x3d, space);
    if (
      !(end <= bytes.length) || equals === -1 || equals >= end ||
      bytes[end - 1] !== 0x0a
    ) {
      throw refusal(null, "has a damaged header");
    }
    const keyword = decodeName(bytes.subarray(space + 1, equals));
    const value = bytes.subarray(equals + 1, end - 1);
    if (keyword.startsWith("GNU.sparse.")) {
      throw refusal(null, "has a sparse file");
    }
    if (keyword === "path" || keyword === "size") {
      if (isGlobal) {
        throw refusal(null, `has one ${keyword} for all its entries`);
      }
      if (keyword === "path") found.path = decodeName(value);
      else found.size = sizeOf(decodeName(value));
    }
    offset = end;
  }
  return found;
}

function sizeOf(text: string): number {
  const size = /^[0-9]{1,16}$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(size)) {
    throw refusal(null, "has an invalid size");
  }
  return size;
}
