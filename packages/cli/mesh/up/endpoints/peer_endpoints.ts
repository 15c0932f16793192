/**
 * Gives every peer its registered endpoint. A peer with a live session keeps its current one,
 * unless it is silent or has just registered another one. Names are looked up again, in random
 * order, so that slow names do not delay the same peers each time.
 */
import type { Network } from "../../../../agent-peer/wireguard/routing/networks.ts";
import type { WantedPeer } from "../wanted/accept.ts";
import type { Running } from "../wanted/running.ts";
import { leadsAstray } from "../wanted/values.ts";
import { endpointText } from "./own_endpoint.ts";
import { run } from "../basics/programs.ts";
import { resolve } from "./resolve.ts";

/** WireGuard gives up a session after this long (REJECT_AFTER_TIME). */
const SESSION_SECONDS = 180;
/** How often the names of silent peers are looked up, in milliseconds. */
const NAMES = 30_000;
/** How many names are looked up at once. */
const AT_ONCE = 64;

export interface EndpointOptions {
  readonly interfaceName: string;
  /** Sets the endpoint of a peer that the tunnel still has. */
  readonly set: (peer: WantedPeer, endpoint: string) => Promise<void>;
}

export interface RefreshOptions {
  readonly peers: readonly WantedPeer[];
  /** The public keys of peers that are silent, or that have registered another endpoint. */
  readonly gone: ReadonlySet<string>;
  /** Whether a program of this host forwards the packets of some peers. */
  readonly forwards: boolean;
}

export class PeerEndpoints {
  readonly #options: EndpointOptions;
  /** The networks of the mesh: a name may lead into them before the tunnel is up. */
  inside: readonly Network[] = [];
  #lookedUpAt = -Infinity;
  #round = 0;
  #isLookingUp = false;
  /** The address of each name that was found, as an endpoint. */
  readonly #found = new Map<string, string>();

  constructor(options: EndpointOptions) {
    this.#options = options;
  }

  /** Where to send a new peer's first handshake; null if that is not known yet. */
  known = ({ endpoint }: WantedPeer): string | null => {
    if (endpoint === null) return null;
    const text = endpointText(endpoint.host, endpoint.port);
    return endpoint.isName ? this.#found.get(text) ?? null : text;
  };

  async refresh(running: Running, { peers, gone, forwards }: RefreshOptions): Promise<void> {
    const now = Date.now() / 1000;
    const due = peers.filter(({ publicKey, endpoint }) => {
      const peer = running.peers.get(publicKey);
      if (endpoint === null || peer === undefined) return false;
      const isLive = now - peer.handshakeAt < SESSION_SECONDS && !gone.has(publicKey);
      return !isLive && !(forwards && peer.endpoint?.startsWith("127."));
    });
    for (const peer of due.filter(({ endpoint }) => !endpoint!.isName)) {
      const { host, port } = peer.endpoint!;
      const text = endpointText(host, port);
      if (running.peers.get(peer.publicKey)?.endpoint === text) continue;
      if (await this.#leadsOutside(host)) await this.#options.set(peer, text).catch(() => {});
    }
    const named = due.filter(({ endpoint }) => endpoint!.isName);
    if (this.#isLookingUp || performance.now() - this.#lookedUpAt < NAMES) return;
    if (named.length > 0) this.#lookUp(named);
  }

  /** Looks up the names of new peers, for at most a second. */
  async lookUpFirst(peers: readonly WantedPeer[]): Promise<void> {
    const named = peers.filter(({ endpoint }) => endpoint?.isName).slice(0, AT_ONCE);
    if (named.length === 0) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const limit = new Promise<void>((done) => timer = setTimeout(done, 1000));
    const found = Promise.all(named.map((peer) => this.#find(peer)));
    await Promise.race([found, limit]);
    clearTimeout(timer);
  }

  /** Has the names looked up at the next refresh: they may lead to other addresses now. */
  lookUpSoon(): void {
    this.#lookedUpAt = -Infinity;
  }

  /** Ends the lookups that are under way: nothing is set by them any more. */
  stop(): void {
    this.#round++;
    this.#isLookingUp = false;
    this.lookUpSoon();
  }

  #lookUp(peers: readonly WantedPeer[]): void {
    const round = ++this.#round;
    this.#lookedUpAt = performance.now();
    this.#isLookingUp = true;
    const queue = shuffled(peers);
    const worker = async (): Promise<void> => {
      for (let peer = queue.pop(); peer !== undefined; peer = queue.pop()) {
        const text = await this.#find(peer).catch(() => null);
        if (round !== this.#round) return;
        if (text !== null) await this.#options.set(peer, text).catch(() => {});
      }
    };
    const workers = Array.from({ length: AT_ONCE }, worker);
    Promise.all(workers).finally(() => {
      if (round === this.#round) this.#isLookingUp = false;
    });
  }

  async #find({ endpoint }: WantedPeer): Promise<string | null> {
    const { host, port } = endpoint!;
    const [address] = await resolve(host);
    if (address === undefined || !await this.#leadsOutside(address)) return null;
    const text = endpointText(address, port);
    this.#found.set(endpointText(host, port), text);
    return text;
  }

  /**
   * Asks the kernel where the address leads. An endpoint on this host, or behind the tunnel, would
   * carry the tunnel's own packets. The kernel does not know that `::` and addresses that begin
   * with it, such as ::ffff:127.0.0.1, may lead to this host, too.
   */
  async #leadsOutside(address: string): Promise<boolean> {
    if (address.startsWith("::") || leadsAstray(address, this.inside)) return false;
    const route = await run("ip", ["-o", "route", "get", address]).catch(() => "");
    return route !== "" && !/^(?:local|broadcast|multicast)/.test(route) &&
      !route.includes(` dev ${this.#options.interfaceName} `);
  }
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  return items.map((item) => ({ item, at: Math.random() }))
    .sort((one, other) => one.at - other.at).map(({ item }) => item);
}
