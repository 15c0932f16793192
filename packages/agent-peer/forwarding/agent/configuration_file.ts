import { type FSWatcher, watch } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { pause } from "../../platform.ts";

/** The file of the agent's peers. It changes with each new configuration. */
export class ConfigurationFile {
  readonly #file: string;
  #watcher: FSWatcher | null = null;
  #hasChanged = false;
  #onChange = () => {};
  #version = "";
  /** Null if it is unknown, or if the agent has an endpoint of its own. */
  #withoutEndpoint: ReadonlySet<string> | null = null;

  constructor(file: string) {
    this.#file = file;
  }

  /** Differs after each change. */
  get version(): string {
    return this.#version;
  }

  /** Whether neither side has an endpoint to which the other could send a handshake. */
  isApart(publicKey: string): boolean {
    return this.#withoutEndpoint?.has(publicKey) ?? false;
  }

  async read(): Promise<void> {
    const version = await stat(this.#file).then(({ mtimeMs }) => String(mtimeMs), () => "");
    if (version === this.#version) return;
    const text = await readFile(this.#file, "utf8").catch(() => "");
    [this.#version, this.#withoutEndpoint] = [version, peersApart(text)];
  }

  /** Resolves when the file has changed since the last call, after `milliseconds`, or on abort. */
  async untilChanged(milliseconds: number, signal: AbortSignal): Promise<void> {
    this.#watch();
    const woken = new AbortController();
    this.#onChange = () => woken.abort();
    if (this.#hasChanged) woken.abort();
    await pause(milliseconds, AbortSignal.any([signal, woken.signal])).catch(() => {});
    this.#hasChanged = false;
  }

  close(): void {
    this.#watcher?.close();
    this.#watcher = null;
  }

  /** If the folder cannot be watched, `read` finds changes later. */
  #watch(): void {
    if (this.#watcher !== null) return;
    const name = basename(this.#file);
    try {
      this.#watcher = watch(dirname(this.#file), { persistent: false }, (_, changed) => {
        if (changed !== name) return;
        this.#hasChanged = true;
        this.#onChange();
      });
      this.#watcher.on("error", () => this.close());
    } catch {
      // The folder does not exist yet.
    }
  }
}

/**
 * The public keys of the peers without an endpoint. Null if this host has a fixed port, and so may
 * have an endpoint.
 */
function peersApart(text: string): ReadonlySet<string> | null {
  if (/^ListenPort = /m.test(text)) return null;
  const keys = new Set(Array.from(text.matchAll(/^PublicKey = (\S+)$/mg), ([, key]) => key!));
  let newest = "";
  for (const line of text.split("\n")) {
    const [word, key = "", value = ""] = line.split(" ");
    if (word === "PublicKey") newest = value;
    // The agent resolves this peer's DNS name, so the peer has an endpoint.
    if (word === "#name") keys.delete(key);
    if (word === "Endpoint") keys.delete(newest);
  }
  return keys;
}
