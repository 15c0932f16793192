import { createHash } from "node:crypto";
import { RESERVED_ON_WINDOWS as RESERVED } from "../../agent-files/folders/entry_path.ts";

/** Characters that some file system or terminal does not accept in a name. */
// deno-lint-ignore no-control-regex
const UNFIT = /[\x00-\x1f\x7f-\x9f\\/:*?"<>|\u202a-\u202e\u2066-\u2069]/g;

/**
 * Splits a key into the names of folders and the file. No name leads out of the folder that they
 * are put in. The service refuses keys that would, but this function does not rely on that.
 */
export function safeSegments(key: string): string[] {
  return key.split("/").map(safeName);
}

/** Turns a text into one file name, which is the same on every system. */
export function safeName(text: string): string {
  const fit = text.replaceAll(UNFIT, "_").replace(
    /[. ]+$/,
    (end) => "_".repeat(end.length),
  );
  if (fit === "") return "_";
  return RESERVED.test(fit) ? `_${fit}` : fit;
}

/** The longest name that file systems accept, in bytes. The names here are ASCII. */
const LONGEST_NAME = 255;

/**
 * The name of the folder for an agent's files. It differs for each agent, so that none can pass a
 * file off as another's. `decodeURIComponent` restores the identifier, unless the name was
 * shortened. Case is preserved.
 */
export function agentFolderName(agentId: string): string {
  const fit = agentId.replaceAll(/[^A-Za-z0-9._@-]+/g, percentEncoded).replace(
    /\.$/,
    "%2E",
  );
  // The contract allows no empty identifier.
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
