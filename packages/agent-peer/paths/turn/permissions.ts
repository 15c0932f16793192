import type { Address } from "../stun/address.ts";

/** The most datagrams to one address that wait for its permission. */
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
 * The IP addresses with which the relay lets this side exchange datagrams (RFC 8656, 9). The relay
 * drops datagrams of other addresses, so datagrams wait for the permission.
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
      /** Called for each datagram that waited, and may be sent now. */
      readonly onGranted: (datagram: Uint8Array, to: Address) => void;
      readonly now: () => number;
    },
  ) {
    this.#ask = ask;
    this.#onGranted = onGranted;
    this.#now = now;
  }

  /** Whether the relay permits the address, so that a datagram may really be from there. */
  includes(address: string): boolean {
    return this.#permissions.get(address)?.isGranted ?? false;
  }

  /** Permits these addresses, and renews no others. */
  async set(addresses: Iterable<string>): Promise<void> {
    const wanted = new Set(addresses);
    for (const address of this.#permissions.keys()) {
      if (!wanted.has(address)) this.#permissions.delete(address);
    }
    await Promise.all([...wanted].map((address) => this.add(address)));
  }

  /** Resolves to whether the relay permits the address. */
  async add(address: string): Promise<boolean> {
    const known = this.#permissions.get(address);
    if (known?.isGranted || (known && this.#now() - known.refusedAt < REFUSED_FOR)) {
      return known.isGranted;
    }
    return await this.#request(address, known ?? this.#new(address));
  }

  /** Call it every few minutes: a permission lasts 5 minutes. */
  renew(): void {
    for (const [address, permission] of this.#permissions) {
      void this.#request(address, permission);
    }
  }

  /**
   * Keeps a copy until the address is permitted. Returns false if no permission was requested, or
   * too many datagrams wait.
   */
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
