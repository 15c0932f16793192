import { createHash } from "node:crypto";
import { RESERVED_ON_WINDOWS as RESERVED } from "../../folders/entry_path.ts";

/** What some file system or terminal does not take in a name. */
// deno-lint-ignore no-control-regex
const UNFIT = /[\x00-\x1f\x7f-\x9f\\/:*?"<>|\u202a-\u202e\u2066-\u2069]/g;

/**
 * The names of folders and file that a key becomes below a folder. Whatever the key says, none of
 * them leads out of it: the service refuses such keys, and it is not relied on.
 */
export function safeSegments(key: string): string[] {
  return key.split("/").map(safeName);
}

/** One name, the same on every system. */
export function safeName(text: string): string {
  const fit = text.replaceAll(UNFIT, "_").replace(
    /[. ]+$/,
    (end) => "_".repeat(end.length),
  );
  if (fit === "") return "_";
  return RESERVED.test(fit) ? `_${fit}` : fit;
}

/** What file systems take at most; all of them are ASCII here. */
const LONGEST_NAME = 255;

/**
 * The folder of an agent's files: another one for each agent, so that none can pass a file off as
 * another's. `decodeURIComponent` reads it back. Letters of either case stay as they are.
 */
export function agentFolderName(agentId: string): string {
  const fit = agentId.replaceAll(/[^A-Za-z0-9._@-]+/g, percentEncoded).replace(
    /\.$/,
    "%2E",
  );
  // An identifier of the contract is not empty.
  const name = fit === "" ? "%" : RESERVED.test(fit) ? percentEncoded(fit[0]!) + fit.slice(1) : fit;
  if (name.length <= LONGEST_NAME) return name;
  return `${name.slice(0, 180)}%${createHash("sha256").update(agentId).digest("hex")}`;
}

function percentEncoded(text: string): string {
  const bytes = Array.from(new TextEncoder().encode(text));
  return bytes.map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");
}

/** `house.txt` → `house.1a2b3c4d.txt`: another name for another content of the same key. */
export function nameWith(name: string, mark: string): string {
  const dot = name.lastIndexOf(".");
  return dot <= 0 ? `${name}.${mark}` : `${name.slice(0, dot)}.${mark}${name.slice(dot)}`;
}
