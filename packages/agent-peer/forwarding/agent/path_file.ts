import { readFile, rename, rm, writeFile } from "node:fs/promises";

/** A peer whose endpoint in the kernel is a port of this program. */
export interface ForwardedPeer {
  readonly publicKey: string;
  /** The port, as the kernel has it: `127.0.0.1:<port>`. */
  readonly endpoint: string;
  readonly via: "direct" | "relay" | "none";
  /** The peer's actual endpoint; null if it is unknown. */
  readonly outer: string | null;
  /** The endpoint that the kernel had before. */
  readonly before: string | null;
}

export interface PathState {
  /** The endpoints of this program, for others to send to. */
  readonly endpoints: readonly string[];
  readonly peers: readonly ForwardedPeer[];
  /** The public keys of the peers for which it is too early to say that there is no path. */
  readonly sought: readonly string[];
}

/** Formats the file that the agent reads: a line for each endpoint, each peer, each sought peer. */
export function formatPathState({ endpoints, peers, sought }: PathState): string {
  const lines = [
    ...endpoints.map((endpoint) => `endpoint ${endpoint}`),
    ...peers.map(({ publicKey, endpoint, via, outer, before }) =>
      `peer ${publicKey} ${endpoint} ${via} ${outer ?? "-"} ${before ?? "-"}`
    ),
    ...sought.map((publicKey) => `seeking ${publicKey}`),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

export function parsePathState(text: string): PathState {
  const rows = text.split("\n").map((line) => line.split(" "));
  const optional = (word: string) => word === "-" ? null : word;
  return {
    endpoints: rows.flatMap(([kind, endpoint]) =>
      kind === "endpoint" && endpoint ? [endpoint] : []
    ),
    peers: rows.flatMap(([kind, publicKey, endpoint, via, outer, before]) =>
      kind === "peer" && publicKey && endpoint && outer && before &&
        (via === "direct" || via === "relay" || via === "none")
        ? [{ publicKey, endpoint, via, outer: optional(outer), before: optional(before) }]
        : []
    ),
    sought: rows.flatMap(([kind, publicKey]) => kind === "seeking" && publicKey ? [publicKey] : []),
  };
}

/** Null if the file does not exist. */
export async function readPathState(file: string): Promise<PathState | null> {
  try {
    return parsePathState(await readFile(file, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/**
 * In milliseconds. Even an unchanged file is rewritten after this time: the agent takes an old
 * file for that of a killed process.
 */
const WRITE_AGAIN = 5000;

/** Writes the file when the state changes, and again from time to time. */
export class PathFile {
  readonly #file: string;
  /** Null while there is no file. */
  #written: string | null = null;
  #writtenAt = -Infinity;

  constructor(file: string) {
    this.#file = file;
  }

  /**
   * Writes the file atomically, so that no reader sees a part of it. Removes the file if `state` is
   * null.
   */
  async write(state: PathState | null, now: number): Promise<void> {
    const text = state && formatPathState(state);
    if (text === this.#written && (text === null || now - this.#writtenAt < WRITE_AGAIN)) return;
    if (text === null) await removePathState(this.#file);
    else {
      const part = `${this.#file}.part`;
      await writeFile(part, text, { mode: 0o600 });
      await rename(part, this.#file);
    }
    [this.#written, this.#writtenAt] = [text, now];
  }
}

export async function removePathState(file: string): Promise<void> {
  await rm(file, { force: true });
}
