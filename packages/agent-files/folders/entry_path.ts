import { refusal } from "./tar/refusal.ts";

/** The values of `process.platform` whose file systems treat names differently. */
export type Platform = "linux" | "darwin" | "win32";

/** The longest name and path that file systems accept, in bytes of UTF-8. */
const LONGEST_SEGMENT_BYTES = 255;
const LONGEST_PATH_BYTES = 4096;
/** How deep folders may be nested. */
const DEEPEST = 200;

/** Device names. Windows opens the device in every folder, and with every file extension. */
export const RESERVED_ON_WINDOWS: RegExp = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)/i;

/** What Windows does not accept as part of a name, or treats specially. */
// deno-lint-ignore no-control-regex
const UNFIT_ON_WINDOWS = /[\x00-\x1f\\:*?"<>|]|[. ]$/;

/**
 * Splits an entry's name into the names of folders and the file. Returns none for the archive's own
 * folder, `./`. Throws `archive_refused` for a name that leads out of the folder, or that the
 * platform would interpret differently.
 */
export function segmentsOf(name: string, platform: Platform): string[] {
  if (name.includes("\0")) throw refusal(name, "has a NUL in its name");
  if (name.startsWith("/")) throw refusal(name, "has an absolute name");
  const segments = segmentsIn(name);
  const excess = excessOf(name);
  if (excess !== null) throw refusal(name, excess);
  for (const segment of segments) {
    if (segment === "..") throw refusal(name, "leads out of the folder");
    if (platform !== "win32") continue;
    if (UNFIT_ON_WINDOWS.test(segment) || RESERVED_ON_WINDOWS.test(segment)) {
      throw refusal(name, "has a name that Windows does not allow");
    }
  }
  return segments;
}

/** What makes a name too long or too deep, to be packed or extracted; null if nothing does. */
export function excessOf(name: string): string | null {
  const segments = segmentsIn(name);
  const isLong = bytesIn(name) > LONGEST_PATH_BYTES ||
    segments.some((segment) => bytesIn(segment) > LONGEST_SEGMENT_BYTES);
  if (isLong) return "has too long a name";
  return segments.length > DEEPEST ? "lies too deep" : null;
}

function segmentsIn(name: string): string[] {
  return name.split("/").filter((segment) => segment !== "" && segment !== ".");
}

/** A text that is equal for two paths if they name the same file on the platform. */
export function sameFileText(path: string, platform: Platform): string {
  if (platform === "linux") return path;
  return path.normalize("NFC").toUpperCase().toLowerCase().normalize("NFC");
}

function bytesIn(text: string): number {
  return new TextEncoder().encode(text).byteLength;
}
