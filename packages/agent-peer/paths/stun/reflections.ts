import type { Surroundings } from "../../wireguard/surroundings.ts";
import type { Address } from "./address.ts";
import { StunBinding } from "./binding.ts";

/** In milliseconds. Some routers forget a UDP flow after 30 s. */
const KEEPALIVE = 25_000;
const LONGEST_PAUSE = 300_000;

/** How often each is sent: a probe is repeated for 15.5 s, and a keepalive for 7.5 s. */
const PROBE_SENDS = 5;
const KEEPALIVE_SENDS = 4;

type Family = "ipv4" | "ipv6";

/**
 * The UDP socket's public address in each IP family, from STUN servers. The requests also keep the
 * router's mapping alive.
 */
export class Reflections {
  readonly #surroundings: Surroundings;
  readonly #onChange: () => void;
  readonly #binding: StunBinding;
  readonly #seen = new Map<Family, Address>();
  /** The servers that have answered in this network. */
  readonly #answerers = new Map<Family, Address>();
  readonly #timers = new Map<Family, () => void>();
  #servers: readonly Address[] = [];
  #known: Promise<unknown> = Promise.resolve();
  #isBlocked = false;
  #round = 0;

  constructor(
    { surroundings, send, onChange }: {
      readonly surroundings: Surroundings;
      readonly send: (datagram: Uint8Array, to: Address) => void;
      /** Called when a public address is learned, changes or is lost. */
      readonly onChange: () => void;
    },
  ) {
    this.#surroundings = surroundings;
    this.#onChange = onChange;
    this.#binding = new StunBinding(surroundings, send);
  }

  get addresses(): Address[] {
    return [...this.#seen.values()];
  }

  /** Whether no server answered in this network. If so, none is asked again until `restart`. */
  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  /** Resolves when a server has answered, or none will. */
  whenKnown(): Promise<unknown> {
    return this.#known;
  }

  take(datagram: Uint8Array, from: Address): boolean {
    return this.#binding.take(datagram, from);
  }

  /** Asks these servers from now on. Resolves when each has answered or timed out. */
  async setServers(servers: readonly Address[]): Promise<void> {
    if (nameOf(servers) === nameOf(this.#servers)) return;
    this.#servers = servers;
    await this.restart();
  }

  /** Asks every server again. Call it when the network has changed. */
  async restart(): Promise<void> {
    const round = ++this.#round;
    this.#isBlocked = false;
    this.#answerers.clear();
    for (const stop of this.#timers.values()) stop();
    const probes = [this.#probe("ipv4", round), this.#probe("ipv6", round)];
    this.#known = firstTrue(probes);
    const answered = await Promise.all(probes);
    if (round !== this.#round) return;
    this.#isBlocked = this.#servers.length > 0 && !answered.includes(true);
    if (this.#isBlocked && this.#seen.size > 0) this.#onChange();
  }

  close(): void {
    this.#round += 1;
    for (const stop of this.#timers.values()) stop();
    this.#binding.close();
  }

  /** Resolves to whether a server answers. If so, that server is asked again and again. */
  async #probe(family: Family, round: number, pause = KEEPALIVE): Promise<boolean> {
    const servers = this.#servers.filter((server) => familyOf(server) === family);
    const first = await firstAnswer(
      servers.map(async (server) => ({
        server,
        seen: await this.#binding.ask(server, { sends: PROBE_SENDS }),
      })),
    );
    if (round !== this.#round) return first !== null;
    if (first === null) {
      this.#see(family, null);
      // A server has answered in this network before. So the server or the network is down: retry.
      if (this.#answerers.has(family)) {
        this.#after(pause, family, () => {
          void this.#probe(family, round, Math.min(2 * pause, LONGEST_PAUSE));
        });
      }
      return false;
    }
    this.#answerers.set(family, first.server);
    this.#see(family, first.seen);
    this.#after(KEEPALIVE, family, () => void this.#keepAlive(family, round));
    return true;
  }

  async #keepAlive(family: Family, round: number): Promise<void> {
    const server = this.#answerers.get(family)!;
    const seen = await this.#binding.ask(server, { sends: KEEPALIVE_SENDS });
    if (round !== this.#round) return;
    if (seen === null) {
      await this.#probe(family, round);
      return;
    }
    this.#see(family, seen);
    this.#after(KEEPALIVE, family, () => void this.#keepAlive(family, round));
  }

  #see(family: Family, seen: Address | null): void {
    const known = this.#seen.get(family);
    if (known?.address === seen?.address && known?.port === seen?.port) return;
    if (seen === null) this.#seen.delete(family);
    else this.#seen.set(family, seen);
    this.#onChange();
  }

  #after(milliseconds: number, family: Family, action: () => void): void {
    this.#timers.set(family, this.#surroundings.after(milliseconds, action));
  }
}

interface Answer {
  readonly server: Address;
  readonly seen: Address;
}

function firstAnswer(
  answers: readonly Promise<{ readonly server: Address; readonly seen: Address | null }>[],
): Promise<Answer | null> {
  const found = answers.map(async (answer) => {
    const { server, seen } = await answer;
    if (seen === null) throw new Error("No answer.");
    return { server, seen };
  });
  return Promise.any(found).catch(() => null);
}

/** Resolves as soon as one promise resolves to true, or none has. */
async function firstTrue(promises: readonly Promise<boolean>[]): Promise<void> {
  const found = promises.map(async (promise) => {
    if (!await promise) throw new Error("Not true.");
  });
  await Promise.any(found).catch(() => {});
}

function familyOf({ address }: Address): Family {
  return address.includes(":") ? "ipv6" : "ipv4";
}

function nameOf(servers: readonly Address[]): string {
  return servers.map(({ address, port }) => `${address} ${port}`).join();
}
