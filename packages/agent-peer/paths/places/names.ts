import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { Surroundings } from "../../wireguard/surroundings.ts";

/**
 * How long an answer is used, in milliseconds. A name that did not resolve is also retried after
 * this.
 */
const LIFETIME = 60_000;

/** A limit, because peers choose the names, and may choose other ones every minute. */
const MOST_NAMES = 4096;

interface Known {
  readonly addresses: readonly string[];
  readonly askedAt: number;
}

/** Addresses of DNS names. Returns known ones without waiting, and resolves in the background. */
export class Names {
  readonly #surroundings: Surroundings;
  readonly #onChange: () => void;
  readonly #lookUp: (name: string) => Promise<readonly string[]>;
  readonly #known = new Map<string, Known>();
  #isClosed = false;

  /** `onChange`: a name has other addresses than before. */
  constructor(
    { surroundings, onChange, lookUp: ask = lookUp }: {
      readonly surroundings: Surroundings;
      readonly onChange: () => void;
      readonly lookUp?: (name: string) => Promise<readonly string[]>;
    },
  ) {
    this.#surroundings = surroundings;
    this.#onChange = onChange;
    this.#lookUp = ask;
  }

  /**
   * The addresses known now. For an IP address, returns that address. Asks DNS if they are unknown
   * or old.
   */
  addressesOf(host: string): readonly string[] {
    if (isIP(host) !== 0) return [host];
    const known = this.#known.get(host);
    const now = this.#surroundings.now();
    if (known === undefined || now - known.askedAt >= LIFETIME) {
      if (this.#known.size >= MOST_NAMES && known === undefined) this.#known.clear();
      this.#known.set(host, { addresses: known?.addresses ?? [], askedAt: now });
      void this.#ask(host);
    }
    return known?.addresses ?? [];
  }

  /** Asks for every name again at its next use: another network may have other answers. */
  forget(): void {
    for (const [host, { addresses }] of this.#known) {
      this.#known.set(host, { addresses, askedAt: -Infinity });
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#known.clear();
  }

  async #ask(host: string): Promise<void> {
    const addresses = await this.#lookUp(host).catch(() => null);
    const known = this.#known.get(host);
    // Keep the known addresses if the lookup fails.
    if (this.#isClosed || known === undefined || addresses === null) return;
    if (addresses.join() === known.addresses.join()) return;
    this.#known.set(host, { ...known, addresses });
    this.#onChange();
  }
}

/** All addresses of a name. For an address, returns that address. */
export async function lookUp(name: string): Promise<string[]> {
  if (isIP(name) !== 0) return [name];
  const answers = await lookup(name, { all: true });
  return answers.map(({ address }) => address).sort();
}
