/** What the part of this program that seeks paths does, as it writes it to its file. */
import { readFileSync, statSync } from "node:fs";
import {
  parsePathState,
  type PathState,
} from "../../../../agent-peer/forwarding/agent/path_file.ts";

/** In milliseconds. The file is rewritten every few seconds, so an older one is of no use. */
const OLD = 30_000;

export class PathNews {
  #text = "";
  #before = "";

  constructor(private readonly file: string) {}

  /** Null while no path is sought. */
  get state(): PathState | null {
    return this.#text === "" ? null : parsePathState(this.#text);
  }

  /** Whether the file has changed since `read`. */
  get hasChanged(): boolean {
    return this.#read() !== this.#text;
  }

  read(): void {
    [this.#before, this.#text] = [this.#text, this.#read()];
  }

  /** The public keys of the peers that are forwarded since the last `read`. */
  get newlyForwarded(): ReadonlySet<string> {
    const before = new Set(parsePathState(this.#before).peers.map(({ publicKey }) => publicKey));
    const now = parsePathState(this.#text).peers.map(({ publicKey }) => publicKey);
    return new Set(now.filter((publicKey) => !before.has(publicKey)));
  }

  #read(): string {
    try {
      const isOld = Date.now() - statSync(this.file).mtimeMs > OLD;
      return isOld ? "" : readFileSync(this.file, "utf8");
    } catch {
      return "";
    }
  }
}
