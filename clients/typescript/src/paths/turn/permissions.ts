import type { Address } from "../stun/address.ts";

/** Datagrams to one address that wait for its permission. */
const MOST_HELD = 16;

/** How long a refusal counts, in milliseconds. */
const REFUSED_FOR = 30_000;

interface Permission {
  isGranted: boolean;
  refusedAt: number;
  /** A request that is under way. */
  asking: Promise<boolean> | null;
  readonly held: { readonly datagram: Uint8Array; readonly to: Address }[];
}

/**
 * IP addresses that may send to the relayed address, and be sent to (RFC 8656, 9). The relay drops
 * what is not permitted, so datagrams wait for it.
 */
export class Permissions {
  readonly #ask: (address: string) => Promise<boolean>;
  readonly #onGranted: (datagram: Uint8Array, to: Address) => void;
  readonly #now: () => number;
  readonly #permissions = new Map<string, Permission>();

  constructor(
    { ask, onGranted, now }: {
      /** Asks the relay. */
      readonly ask: (address: string) => Promise<boolean>;
      /** What waited may be sent now. */
      readonly onGranted: (datagram: Uint8Array, to: Address) => void;
      readonly now: () => number;
    },
  ) {
    this.#ask = ask;
    this.#onGranted = onGranted;
    this.#now = now;
  }

  /** Whether something from there may be believed to come from there. */
  includes(address: string): boolean {
    return this.#permissions.get(address)?.isGranted ?? false;
  }

  /** Permits these, and renews no others. */
  async set(addresses: Iterable<string>): Promise<void> {
    const wanted = new Set(addresses);
    for (const address of this.#permissions.keys()) {
      if (!wanted.has(address)) this.#permissions.delete(address);
    }
    await Promise.all([...wanted].map((address) => this.add(address)));
  }

  /** Resolves to whether the relay permits it. */
  async add(address: string): Promise<boolean> {
    const known = this.#permissions.get(address);
    if (known?.isGranted || (known && this.#now() - known.refusedAt < REFUSED_FOR)) {
      return known.isGranted;
    }
    return await this.#request(address, known ?? this.#new(address));
  }

  /** Is called every few minutes: a permission lasts 5. */
  renew(): void {
    for (const [address, permission] of this.#permissions) {
      void this.#request(address, permission);
    }
  }

  /** Keeps a copy until the address is permitted. Returns false if that is not to be expected. */
  hold(datagram: Uint8Array, to: Address): boolean {
    const permission = this.#permissions.get(to.address);
    if (permission === undefined || permission.held.length === MOST_HELD) return false;
    permission.held.push({ datagram: new Uint8Array(datagram), to });
    return true;
  }

  #new(address: string): Permission {
    const permission: Permission = {
      isGranted: false,
      refusedAt: -Infinity,
      asking: null,
      held: [],
    };
    this.#permissions.set(address, permission);
    return permission;
  }

  #request(address: string, permission: Permission): Promise<boolean> {
    permission.asking ??= this.#requestOnce(address, permission)
      .finally(() => permission.asking = null);
    return permission.asking;
  }

  async #requestOnce(address: string, permission: Permission): Promise<boolean> {
    permission.isGranted = await this.#ask(address);
    const held = permission.held.splice(0);
    if (!permission.isGranted) permission.refusedAt = this.#now();
    else for (const { datagram, to } of held) this.#onGranted(datagram, to);
    return permission.isGranted;
  }
}
