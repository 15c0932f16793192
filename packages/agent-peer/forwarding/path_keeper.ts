/**
 * Finds paths to peers that the kernel's interface does not reach by itself, and has their packets
 * forwarded. While the kernel reaches all peers, this opens no socket and sends no request.
 */
import { pause } from "../platform.ts";
import { parseEndpoint } from "../paths/places/address_kinds.ts";
import { openUdpSocket } from "../wireguard/sockets/open_udp_socket.ts";
import { systemSurroundings } from "../wireguard/system_surroundings.ts";
import { ConfigurationFile } from "./agent/configuration_file.ts";
import { type ForwardedPeer, PathFile, readPathState, removePathState } from "./agent/path_file.ts";
import type { Forwarder } from "./datagrams/forwarder.ts";
import { type KernelPeer, type KernelState, stateWith } from "./kernel.ts";
import { isInside, isLoopback, LOOPBACK, portOn } from "./places.ts";
import { openWays, type Ways } from "./open_ways.ts";
import type { PathKeeperOptions } from "./options.ts";
import { PathTeller, TroubleTeller } from "./path_news.ts";
import { PathWatch } from "./path_watch.ts";
import { forwardedPeers, outerEndpoints } from "./reports.ts";
import { restoreEndpoints } from "./restore.ts";
import { Returns } from "./returns.ts";
import { KnownConfiguration } from "./service.ts";

/** Milliseconds between two readings: while a path is sought, and otherwise. */
const [SOON, STEP] = [500, 2000];
/** How long the relay and the socket stay open after no peer needs a path any more. */
const KEEP_OPEN = 300_000;

export class PathKeeper {
  readonly #options: PathKeeperOptions;
  readonly #surroundings = systemSurroundings();
  readonly #watch = new PathWatch();
  readonly #returns = new Returns();
  #open: Ways | null = null;
  readonly #known: KnownConfiguration;
  #neededAt = 0;
  readonly #file: PathFile;
  readonly #configuration: ConfigurationFile;
  /** The endpoints that the kernel had before, by public key. */
  readonly #before = new Map<string, string | null>();
  readonly #teller: PathTeller;
  readonly #trouble: TroubleTeller;

  constructor(options: PathKeeperOptions) {
    this.#options = options;
    this.#teller = new PathTeller(options.onNews);
    this.#trouble = new TroubleTeller(options.onTrouble);
    this.#file = new PathFile(options.stateFile);
    this.#configuration = new ConfigurationFile(options.configurationFile);
    this.#known = new KnownConfiguration({
      service: options.service,
      now: this.#surroundings.now,
      onAnswer: (error) => this.#trouble.tell(error),
    });
  }

  /** Runs until the signal is aborted. Then restores the peers' own endpoints. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener("abort", () => this.#trouble.isOver = true);
    const left = await readPathState(this.#options.stateFile);
    await this.#restore(left?.peers ?? []);
    await removePathState(this.#options.stateFile);
    try {
      while (!signal.aborted) {
        await this.#step().catch((error) => this.#trouble.tell(error));
        if (this.#trouble.refusal !== null) throw this.#trouble.refusal;
        await this.#configuration.untilChanged(this.#sought().length > 0 ? SOON : STEP, signal);
      }
    } finally {
      this.#configuration.close();
      const forwarded = this.#forwarded();
      // First: with the next packet from a port, the kernel would send to that port again.
      this.#close();
      await this.#restore(forwarded);
      await removePathState(this.#options.stateFile);
    }
  }

  async #step(): Promise<void> {
    const forwarded = this.#open?.forwarder.publicKeys ?? [];
    const state = await stateWith(forwarded, this.#options.kernel);
    const [now, unixTime] = [this.#surroundings.now(), this.#surroundings.unixTime()];
    const peers = state?.peers ?? [];
    this.#watch.update(peers, { now, unixTime, forwarded });
    for (const [publicKey, heir] of this.#open?.forwarder.handOver(peers) ?? []) {
      await this.#release(publicKey, heir);
    }
    if (state !== null) await this.#keep(state, now);
    await this.#write();
  }

  async #keep(state: KernelState, now: number): Promise<void> {
    if (this.#open !== null) {
      this.#open.forwarder.kernelPort = state.listenPort;
      this.#open.forwarder.publicKey = state.publicKey;
      await this.#keepPorts(state, now);
    }
    await this.#configuration.read();
    const needing = state.peers.filter((peer) => this.#isNeeding(peer, now));
    const hasPorts = (this.#open?.forwarder.publicKeys.length ?? 0) > 0;
    if (needing.length > 0 || hasPorts) this.#neededAt = now;
    else {
      if (this.#open !== null && now - this.#neededAt > KEEP_OPEN) this.#close();
      return;
    }
    const [forwarder] = await Promise.all([this.#opened(state), this.#refresh(state.peers)]);
    for (const peer of needing) await this.#takeOver(peer);
    this.#setPeers();
    const sought = new Set(this.#sought());
    forwarder.punch((publicKey) => sought.has(publicKey));
    await this.#tell(state.peers);
  }

  #isNeeding(peer: KernelPeer, now: number): boolean {
    const hasPort = this.#open?.forwarder.portOf(peer.publicKey);
    // A loopback endpoint that is no port of this process is left from a killed one.
    const isLeft = isLoopback(peer.endpoint);
    return !hasPort && (isLeft || this.#watch.isBroken(peer.publicKey, now) || this.#isApart(peer));
  }

  /** Whether neither side can start a handshake, so that waiting for one is useless. */
  #isApart({ publicKey, endpoint }: KernelPeer): boolean {
    return endpoint === null && !this.#watch.works(publicKey) &&
      this.#configuration.isApart(publicKey);
  }

  /** Handles peers at another endpoint than their port: they sent from it, or someone set it. */
  async #keepPorts({ peers }: KernelState, now: number): Promise<void> {
    const { forwarder } = this.#open!;
    const guests = peers.filter(({ endpoint }) => forwarder.isGuests(portOn(endpoint)));
    for (const peer of peers) {
      const { publicKey, endpoint } = peer;
      const port = forwarder.portOf(publicKey);
      forwarder.setHandshake(publicKey, this.#watch.handshakeAt(publicKey));
      if (port === null || await this.#giveBack(peer, now)) continue;
      if (endpoint === `${LOOPBACK}${port}`) continue;
      // The peer has sent from there, and the kernel has answered: a direct path works again.
      if (!isLoopback(endpoint) && endpoint !== null && this.#watch.works(publicKey)) {
        await this.#release(publicKey);
        continue;
      }
      if (guests.length === 1 && guests[0]!.publicKey === publicKey) {
        forwarder.claimGuests(publicKey);
      }
      await this.#options.kernel.setEndpoint(publicKey, `${LOOPBACK}${port}`);
    }
  }

  /** Returns whether a return is in progress: the kernel may reach the peer without a port. */
  async #giveBack(peer: KernelPeer, now: number): Promise<boolean> {
    const { publicKey } = peer;
    const { forwarder } = this.#open!;
    const place = this.#watch.works(publicKey) && forwarder.isOpen(publicKey)
      ? this.#before.get(publicKey) ?? null
      : null;
    const step = this.#returns.next(peer, { place, now });
    if (step.is === "returned") await this.#release(publicKey);
    if (step.is === "failed") forwarder.setOwn(publicKey, null);
    if (step.is !== "set" && step.is !== "failed") return step.is !== "nothing";
    const port = `${LOOPBACK}${forwarder.portOf(publicKey)}`;
    await this.#options.kernel.setEndpoint(publicKey, step.is === "set" ? step.place : port);
    // To end the return, the peer must receive a packet from there, and answer it.
    const [address = ""] = this.#peer(publicKey)?.allowed_ips[0]?.split("/") ?? [];
    if (isInside(address, this.#known.inside)) forwarder.nudge(publicKey, address);
    return true;
  }

  async #opened(state: KernelState): Promise<Forwarder> {
    if (this.#open !== null) return this.#open.forwarder;
    const { stunServers, service, openSocket = openUdpSocket } = this.#options;
    this.#open = await openWays(state, {
      surroundings: this.#surroundings,
      stunServers,
      openSocket,
      iceServers: () => service.relay(),
      // A peer's name may resolve into the mesh. The tunnel would then carry its own packets.
      mayReach: (address) => !isInside(address, this.#known.inside),
    });
    await this.#open.paths.whenGathered();
    return this.#open.forwarder;
  }

  /**
   * Asks for the configuration if the agent has a new one, or if a peer without a path may have
   * registered other endpoints.
   */
  async #refresh(peers: readonly KernelPeer[]): Promise<void> {
    const wanting = peers.map(({ publicKey }) => publicKey).filter((key) =>
      !this.#watch.works(key)
    );
    const answered = this.#known.refresh(this.#configuration.version, wanting.join(" "));
    // Wait only briefly: the work for known peers must continue.
    if (answered !== null) await Promise.race([answered, pause(STEP)]);
  }

  /**
   * Takes over a peer's packets, if there is an endpoint where the peer may be. A peer that is
   * apart needs none: the kernel's handshake is sent as soon as the peer registers one.
   */
  async #takeOver(peer: KernelPeer): Promise<void> {
    const { publicKey, endpoint } = peer;
    if (!this.#hasWays(publicKey) && !(this.#isApart(peer) && this.#peer(publicKey))) return;
    const { forwarder } = this.#open!;
    const before = isLoopback(endpoint) ? null : endpoint;
    this.#before.set(publicKey, before);
    const port = await forwarder.open(publicKey);
    forwarder.setHandshake(publicKey, this.#watch.handshakeAt(publicKey));
    const own = parseEndpoint(before ?? "");
    const isReachable = own !== null && !isInside(own.host, this.#known.inside);
    forwarder.setOwn(publicKey, isReachable ? own : null);
    // Before `setEndpoint`: the first handshake needs the paths, and the agent the state file.
    this.#setPeers();
    await this.#write();
    await this.#options.kernel.setEndpoint(publicKey, `${LOOPBACK}${port}`);
  }

  #hasWays(publicKey: string): boolean {
    const peer = this.#peer(publicKey);
    return peer !== undefined && this.#open!.paths.candidates(peer).length > 0;
  }

  #setPeers(): void {
    const { paths, forwarder } = this.#open!;
    paths.setPeers(forwarder.publicKeys.flatMap((publicKey) => {
      const peer = this.#peer(publicKey);
      if (peer === undefined) return [];
      const { endpoints, observed_endpoint } = peer;
      return [{ publicKey, presharedKey: null, allowedIps: [], endpoints, observed_endpoint }];
    }));
  }

  /** `heir`: the peer that takes over the port. */
  async #release(publicKey: string, heir: string | null = null): Promise<void> {
    if (heir === null) this.#open!.forwarder.close(publicKey);
    else this.#before.set(heir, this.#before.get(publicKey) ?? null);
    this.#before.delete(publicKey);
    this.#returns.forget(publicKey);
    this.#setPeers();
    await this.#teller.tellReleased(publicKey, this.#nameOf(publicKey));
  }

  async #tell(peers: readonly KernelPeer[]): Promise<void> {
    const { hasRelay } = this.#open!.paths;
    const forwarded = new Map(this.#forwarded().map((peer) => [peer.publicKey, peer]));
    const sought = new Set(this.#sought());
    for (const { publicKey } of peers) {
      const report = forwarded.get(publicKey);
      if (this.#watch.works(publicKey) && (report?.via ?? "none") === "none") continue;
      const [isTried, isSought] = [this.#hasWays(publicKey), sought.has(publicKey)];
      const name = this.#nameOf(publicKey);
      await this.#teller.tell({ publicKey, name, report, hasRelay, isTried, isSought });
    }
  }

  #sought(): string[] {
    const hasRelay = this.#open?.paths.hasRelay ?? false;
    return this.#watch.sought({ now: this.#surroundings.now(), hasRelay });
  }

  #forwarded(): ForwardedPeer[] {
    if (this.#open === null) return [];
    return forwardedPeers(this.#open, { watch: this.#watch, before: this.#before });
  }

  async #write(): Promise<void> {
    const state = this.#open && {
      endpoints: outerEndpoints(this.#open.paths, this.#known.inside),
      peers: this.#forwarded(),
      sought: this.#sought(),
    };
    await this.#file.write(state, this.#surroundings.now());
  }

  #restore(forwarded: readonly ForwardedPeer[]): Promise<void> {
    const registered = (publicKey: string) => this.#peer(publicKey)?.endpoints ?? [];
    return restoreEndpoints(this.#options.kernel, { forwarded, registered });
  }

  #peer(publicKey: string) {
    return this.#known.peers.find((peer) => peer.public_key === publicKey);
  }

  #nameOf(publicKey: string): string {
    return this.#peer(publicKey)?.name ?? publicKey;
  }

  #close(): void {
    this.#open?.forwarder.closeAll();
    this.#open?.paths.close();
    this.#open = null;
    this.#teller.forgetAll();
    this.#before.clear();
  }
}
