/** Names of devices, which Windows opens in every folder and with every ending. */
const RESERVED = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)/i;

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
  const fit = text.replaceAll(UNFIT, "_").replace(/[. ]+$/, (end) => "_".repeat(end.length));
  if (fit === "") return "_";
  return RESERVED.test(fit) ? `_${fit}` : fit;
}

/** `house.txt` → `house.1a2b3c4d.txt`: another name for another content of the same key. */
export function nameWith(name: string, mark: string): string {
  const dot = name.lastIndexOf(".");
  return dot <= 0 ? `${name}.${mark}` : `${name.slice(0, dot)}.${mark}${name.slice(dot)}`;
}
