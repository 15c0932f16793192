/**
 * This host's private key, and how another key replaces it. The next key is kept beside the current
 * one until the service knows the next public key. Only then does it replace the current key, in
 * one step. If anything ends in between, the next start registers the next key again, and goes on
 * from there.
 */
import { open, readFile, rename, rm } from "node:fs/promises";
import { newPrivateKey } from "../../../../agent-peer/mesh/service/own_key.ts";
import { Keypair } from "../../../../agent-peer/wireguard/crypto/x25519.ts";
import { formatKey, parseKey } from "../../../../agent-peer/wireguard/key.ts";
import type { Log } from "../basics/log.ts";

export class HostKeys {
  readonly #next: string;

  constructor(
    /** The file of the current private key. */
    readonly file: string,
    private readonly log: Log,
  ) {
    this.#next = `${file}.new`;
  }

  /** The current private key, as `wg` writes it. Throws if the file has no key. */
  async privateKey(): Promise<string> {
    const text = await readKey(this.file);
    if (text === null) throw new Error(`${this.file} has no private key of WireGuard.`);
    return text;
  }

  /**
   * The public key that the service has to know. An empty file, which a full disk or a crash
   * leaves, gets a new key. Throws an Error if the file has something else than a key.
   */
  async publicKeyToRegister(): Promise<string> {
    if (await this.hasNext()) {
      const next = await readKey(this.#next);
      if (next !== null) return publicKeyOf(next);
      this.log(`${this.#next} holds no key; removing it`);
      await rm(this.#next, { force: true });
    }
    if (await isEmpty(this.file)) await this.#make(this.file);
    return publicKeyOf(await this.privateKey());
  }

  async publicKey(): Promise<string> {
    return publicKeyOf(await this.privateKey());
  }

  async hasNext(): Promise<boolean> {
    return !await isEmpty(this.#next);
  }

  /** Another agent has the registered public key: this host is a copy, or somebody was quicker. */
  async replaceKeyInUse(): Promise<void> {
    await this.#make(await this.hasNext() ? this.#next : this.file);
    this.log("a new key pair is made");
  }

  /** Makes the next key. Keeps an existing one, because the service may know it already. */
  async makeNext(): Promise<void> {
    if (!await this.hasNext()) await this.#make(this.#next);
  }

  /** Call this once the service knows the next public key. */
  async adoptNext(): Promise<void> {
    if (!await this.hasNext()) return;
    await rename(this.#next, this.file);
    this.log(`the private key is replaced; the public key is ${await this.publicKey()}`);
  }

  /** Writes a new key to the file, completely or not at all. */
  async #make(file: string): Promise<void> {
    const part = `${file}.part`;
    const text = `${formatKey(newPrivateKey())}\n`;
    try {
      await rm(part, { force: true });
      const written = await open(part, "wx", 0o600);
      try {
        await written.writeFile(text);
        await written.sync();
      } finally {
        await written.close();
      }
      await rename(part, file);
    } catch {
      await rm(part, { force: true }).catch(() => {});
      throw new Error(`no private key can be written to ${file}: is the disk full?`);
    }
  }
}

/** Null if the file has no key. */
async function readKey(file: string): Promise<string | null> {
  const text = (await readFile(file, "utf8").catch(() => "")).trim();
  try {
    parseKey(text);
    return text;
  } catch {
    return null;
  }
}

async function isEmpty(file: string): Promise<boolean> {
  return (await readFile(file, "utf8").catch(() => "")) === "";
}

function publicKeyOf(privateKey: string): string {
  return formatKey(new Keypair(parseKey(privateKey)).publicKey);
}
