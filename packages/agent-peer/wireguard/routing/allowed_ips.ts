import { masked, type Network } from "./networks.ts";

/** Finds the peer that an inner address belongs to. The longest prefix decides. */
export class AllowedIps<Owner> {
  /** By family and prefix length, the longest first. Each has owners by the network's bytes. */
  readonly #tables: {
    family: number;
    prefixLength: number;
    owners: Map<string, Owner>;
  }[] = [];

  /** A network belongs to one peer: the last one that it was added for. */
  add({ bytes, prefixLength }: Network, owner: Owner): void {
    const family = bytes.length;
    let table = this.#tables.find((one) =>
      one.family === family && one.prefixLength === prefixLength
    );
    if (table === undefined) {
      table = { family, prefixLength, owners: new Map() };
      this.#tables.push(table);
      this.#tables.sort((left, right) => right.prefixLength - left.prefixLength);
    }
    table.owners.set(keyOf(bytes), owner);
  }

  clear(): void {
    this.#tables.length = 0;
  }

  find(address: Uint8Array): Owner | null {
    for (const { family, prefixLength, owners } of this.#tables) {
      if (family !== address.length) continue;
      const isWhole = prefixLength === family * 8;
      const owner = owners.get(
        keyOf(isWhole ? address : masked(address, prefixLength)),
      );
      if (owner !== undefined) return owner;
    }
    return null;
  }
}

function keyOf(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}
