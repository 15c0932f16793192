/** This host's part in the mesh: what it runs, and how that follows what it should run. */
import { join } from "node:path";
import type { SentPath } from "../../../../agent-peer/service.ts";
import type { Log } from "../basics/log.ts";
import type { Registration } from "../service/link.ts";
import type { Settings } from "../basics/settings.ts";
import type { Wanted, WantedPeer } from "../wanted/accept.ts";
import { addedTo, differences, isNothing, movedSince } from "../wanted/differences.ts";
import { PeerWatch } from "../wanted/path_watch.ts";
import type { Running } from "../wanted/running.ts";
import { TunnelFirewall } from "./firewall.ts";
import { askPeers, Greeter } from "./greetings.ts";
import { HostKeys } from "./keys.ts";
import { PeerNames } from "./peer_names.ts";
import { OwnEndpoint } from "../endpoints/own_endpoint.ts";
import { PathNews } from "../endpoints/path_news.ts";
import { PeerEndpoints } from "../endpoints/peer_endpoints.ts";
import { StateFile } from "./state_file.ts";
import { Tunnel } from "./tunnel.ts";

/** In seconds: the shortest time between two reports that do not wait for a heartbeat. */
const PATH_NEWS = 30;

export class LocalHost {
  readonly keys: HostKeys;
  readonly tunnel: Tunnel;
  readonly state: StateFile;
  readonly names: PeerNames;
  readonly #settings: Settings;
  readonly #log: Log;
  readonly #own: OwnEndpoint;
  readonly #endpoints: PeerEndpoints;
  readonly #greeter: Greeter;
  readonly #watch = new PeerWatch();
  readonly #paths: PathNews;
  #wanted: Wanted | null = null;
  #running: Running | null = null;
  #silent: ReadonlySet<string> = new Set();
  #turn: Promise<unknown> = Promise.resolve();
  #toldAt = -Infinity;
  #hasTurned = false;

  constructor(settings: Settings, log: Log) {
    const { interfaceName, configFolder, runFolder, firewall } = settings;
    const inRun = (end: string) => join(runFolder, interfaceName + end);
    const inConfig = (end: string) => join(configFolder, interfaceName + end);
    this.#settings = settings;
    this.#log = log;
    this.keys = new HostKeys(inConfig(".key"), log);
    this.state = new StateFile(inRun(".json"), inRun(".peers"), log);
    this.tunnel = new Tunnel(
      interfaceName,
      new TunnelFirewall({ interfaceName, firewall, log }),
    );
    this.#own = new OwnEndpoint(settings.endpoint, inConfig(".endpoint"));
    this.#paths = new PathNews(inRun(".path"));
    this.names = new PeerNames(settings, log);
    this.#greeter = new Greeter(this.tunnel, (change) => this.#exclusively(change));
    this.#endpoints = new PeerEndpoints({
      interfaceName,
      set: (peer, endpoint) => this.#exclusively(() => this.#setEndpoint(peer, endpoint)),
    });
  }

  /** Reads what an earlier agent left behind. */
  async start(): Promise<void> {
    await this.tunnel.firewall.prepare();
    this.#wanted = await this.state.read();
    this.#endpoints.inside = this.#wanted?.networks ?? [];
    await this.look().catch((error) => this.#log((error as Error).message));
    if (this.#running === null) await this.names.write([]);
  }

  /** The version that the tunnel is known to run; null while it is down. */
  get version(): number | null {
    return this.#running === null ? null : this.#wanted?.version ?? null;
  }

  get wanted(): Wanted | null {
    return this.#wanted;
  }
  get endpoint(): string | null {
    return this.#own.current;
  }

  get watch(): Pick<PeerWatch, "paths" | "isOneReportEnough"> {
    return this.#watch;
  }

  takeReport(): readonly SentPath[] {
    const report = this.#watch.report(this.#toldAt);
    [this.#toldAt, this.#hasTurned] = [unixTime(), false];
    return report;
  }

  get hasPathNews(): boolean {
    return this.#hasTurned && unixTime() - this.#toldAt >= PATH_NEWS;
  }

  get hasForwardingNews(): boolean {
    return this.#paths.hasChanged;
  }

  /** What the service has to know of this host. Throws an Error if there is no key. */
  async registration(): Promise<Registration> {
    const publicKey = await this.keys.publicKeyToRegister();
    const { listenPort: port } = this.#settings;
    const running = this.#running?.listenPort || null;
    const endpoint = this.#own.current;
    const canTell = endpoint !== null || port !== null || running !== null;
    const further = canTell
      ? (this.#paths.state?.endpoints ?? []).filter((text) => text !== endpoint)
      : [];
    // Otherwise the service would take the port of the first further endpoint for the tunnel's.
    const listenPort = port ?? (endpoint === null && further.length > 0 ? running : null);
    return { publicKey, endpoint, further, listenPort };
  }

  /**
   * Checks and repairs everything that can change on this host by itself. Sends no request.
   * Resolves to whether the host has moved: the answer to a pending request may then no longer
   * arrive.
   */
  async look(): Promise<boolean> {
    const hasMoved = await this.#own.follow();
    this.#paths.read();
    await this.#exclusively(() => this.#repair());
    const peers = this.#wanted?.peers ?? [];
    if (hasMoved) await askPeers(peers);
    if (this.#running !== null) {
      await this.names.keep(peers);
      await this.#watchPeers(this.#running, peers);
    }
    await this.state.writeAgain();
    return hasMoved;
  }

  /** Applies a configuration. The firewall changes first, whatever happens then. */
  async apply(answer: unknown, wanted: Wanted): Promise<void> {
    // If these ended later, they could bring back a peer that the new configuration does not have.
    this.#endpoints.stop();
    this.#greeter.stop();
    this.#endpoints.inside = wanted.networks;
    const before = this.#wanted;
    await this.#endpoints.lookUpFirst(addedTo(before, wanted));
    await this.#exclusively(async () => {
      const running = await this.#read();
      if (running === null || before === null || !await this.#isSameInterface(running, wanted)) {
        await this.#restart(running, wanted);
      } else await this.#change(running, wanted);
      this.#wanted = wanted;
      this.#running = await this.#read();
    });
    await this.state.write(answer, wanted);
    await this.names.write(wanted.peers);
    if (this.#running !== null) await this.#refresh(this.#running, movedSince(before, wanted));
  }

  /** Brings up what ran last. Resolves to whether there is something, and it was down. */
  async bringUpAgain(): Promise<boolean> {
    const wanted = this.#wanted;
    if (wanted === null || this.#running !== null) return false;
    await this.#exclusively(async () => {
      await this.#restart(await this.tunnel.running(), wanted);
      this.#running = await this.tunnel.running();
    });
    await this.names.write(wanted.peers);
    return true;
  }

  async leave(): Promise<void> {
    this.#endpoints.stop();
    this.#greeter.stop();
    await this.#exclusively(async () => {
      await this.tunnel.firewall.close();
      this.#running = null;
    });
    this.tunnel.firewall.endSpares();
    await this.names.write([]);
  }

  async #repair(): Promise<void> {
    const { firewall } = this.tunnel;
    firewall.keepSpares();
    const [running, wanted] = [await this.#read(), this.#wanted];
    this.#running = running;
    if (running === null) return this.#watch.forget();
    if (wanted === null) return;
    if (!await firewall.isLoaded()) {
      this.#log("the firewall is gone; loading it again");
      await this.#loadOrClose(() => firewall.load(wanted, running.listenPort));
    }
    const found = differences(running, wanted.peers);
    if (isNothing(found) || this.#running === null) return;
    await this.tunnel.set(found, this.#endpoints.known);
    this.#running = await this.tunnel.running();
  }

  /** Whether only peers and rules differ. The rest cannot change while the tunnel is up. */
  async #isSameInterface(running: Running, { ipv4, ipv6, mtu, listenPort }: Wanted) {
    const now = this.#wanted;
    return now?.ipv4 === ipv4 && now.ipv6 === ipv6 && now.mtu === mtu &&
      running.publicKey === await this.keys.publicKey() &&
      (listenPort === null || listenPort === running.listenPort);
  }

  async #restart(running: Running | null, wanted: Wanted): Promise<void> {
    const privateKey = await this.keys.privateKey();
    if (running !== null) await this.tunnel.firewall.close();
    this.#running = null;
    await this.tunnel.requireFreeNetwork(wanted);
    this.#watch.forget();
    await this.tunnel.up(wanted, { privateKey, endpointOf: this.#endpoints.known });
    this.#greeter.greet({ peers: () => this.#wanted?.peers ?? [], spared: new Set() });
  }

  async #change(running: Running, wanted: Wanted): Promise<void> {
    const found = differences(running, wanted.peers);
    const { firewall } = this.tunnel;
    await this.#loadOrClose(() => firewall.load(wanted, running.listenPort));
    await this.tunnel.set(found, this.#endpoints.known);
    if (found.added.length === 0) return;
    const spared = new Set(running.peers.keys());
    this.#greeter.greet({ peers: () => this.#wanted?.peers ?? [], spared });
  }

  /** Takes the tunnel down if its rules cannot be loaded: older ones may allow too much. */
  async #loadOrClose(load: () => Promise<void>): Promise<void> {
    try {
      await load();
    } catch (error) {
      this.#log(
        `the firewall cannot be loaded; taking the tunnel down: ${(error as Error).message}`,
      );
      await this.tunnel.firewall.close();
      this.#running = null;
      throw error;
    }
  }

  async #watchPeers(running: Running, peers: readonly WantedPeer[]): Promise<void> {
    const found = this.#watch.look(running, {
      peers,
      now: unixTime(),
      forwarding: this.#paths.state,
      hasEndpoint: this.#own.current !== null,
    });
    for (const text of found.news) this.#log(text);
    this.#silent = found.silent;
    await askPeers(found.asked);
    if (found.hasTurned) {
      this.#hasTurned = true;
      // A peer's name may now resolve to another address.
      this.#endpoints.lookUpSoon();
    }
    await this.#refresh(running, []);
    const forwarded = this.#paths.newlyForwarded;
    if (forwarded.size === 0) return;
    const spared = new Set([...running.peers.keys()].filter((key) => !forwarded.has(key)));
    this.#greeter.greet({ peers: () => this.#wanted?.peers ?? [], spared, after: 200 });
  }

  async #refresh(running: Running, moved: readonly WantedPeer[]): Promise<void> {
    await this.#endpoints.refresh(running, {
      peers: this.#wanted?.peers ?? [],
      gone: new Set([...this.#silent, ...moved.map(({ publicKey }) => publicKey)]),
      forwards: this.#paths.state !== null,
    });
    // A peer behind a NAT may be waiting for a packet.
    await askPeers(moved);
  }

  /** `wg set` would add a missing peer. */
  async #setEndpoint(peer: WantedPeer, endpoint: string): Promise<void> {
    const running = await this.tunnel.running();
    const isWanted = this.#wanted?.peers.some(({ publicKey }) => publicKey === peer.publicKey);
    if (!isWanted || running?.peers.has(peer.publicKey) !== true) return;
    await this.tunnel.setEndpoint(peer, endpoint);
  }

  /** What runs. Without memory to start a program, what ran at the last look. */
  #read(): Promise<Running | null> {
    return this.tunnel.running().catch(() => this.#running);
  }

  /** Runs one change of this host after another. */
  #exclusively<Result>(change: () => Promise<Result>): Promise<Result> {
    const done = this.#turn.then(change, change);
    this.#turn = done.catch(() => {});
    return done;
  }
}

/** Seconds since 1970. */
function unixTime(): number {
  return Math.floor(Date.now() / 1000);
}
