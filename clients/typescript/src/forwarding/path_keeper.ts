/**
 * Finds paths to peers that the kernel's interface does not reach by itself, and has their packets
 * forwarded. While the kernel reaches all peers, this opens no socket and sends no request.
 */
import { stat } from "node:fs/promises";
import { AgentError } from "../errors/agent_error.ts";
import { pause } from "../http/retries.ts";
import { Paths } from "../paths/paths.ts";
import { parseEndpoint } from "../paths/places/address_kinds.ts";
import { openUdpSocket } from "../wireguard/sockets/udp_socket.ts";
import { systemSurroundings } from "../wireguard/system_surroundings.ts";
import { Forwarder } from "./forwarder.ts";
import type { Kernel, KernelState } from "./kernel.ts";
import { type ForwardedPeer, readPathState, removePathState, writePathState } from "./path_file.ts";
import { isInside, isLoopback, LOOPBACK, portOn } from "./places.ts";
import { type PathNews, PathTeller } from "./path_news.ts";
import { PathWatch } from "./path_watch.ts";
import { restoreEndpoints } from "./restore.ts";
import { KnownConfiguration, type PathService } from "./service.ts";

/** In milliseconds. */
const STEP = 2000;
const WRITE_AGAIN = 5000;
/** How long the relay and the socket stay open after no peer needs a path any more. */
const KEEP_OPEN = 300_000;

export interface PathKeeperOptions {
  readonly kernel: Kernel;
  readonly service: PathService;
  /** The file from which the reference agent learns what this does. */
  readonly stateFile: string;
  /** The agent's configuration file. If it changes, another configuration is in force. */
  readonly configurationFile: string;
  readonly stunServers: readonly string[];
  readonly onNews: (news: PathNews) => Promise<void>;
  readonly onTrouble: (message: string) => void;
  /** Default: a UDP socket of the system. */
  readonly openSocket?: typeof openUdpSocket;
}

export class PathKeeper {
  readonly #options: PathKeeperOptions;
  readonly #surroundings = systemSurroundings();
  readonly #watch = new PathWatch();
  #open: { readonly paths: Paths; readonly forwarder: Forwarder } | null = null;
  readonly #known: KnownConfiguration;
  #neededAt = 0;
  #written = "";
  #writtenAt = -Infinity;
  /** The endpoints that the kernel had before, by public key. */
  readonly #before = new Map<string, string | null>();
  readonly #teller: PathTeller;
  #trouble = "";
  #end: Error | null = null;
  #isOver = false;

  constructor(options: PathKeeperOptions) {
    this.#options = options;
    this.#teller = new PathTeller(options.onNews);
    this.#known = new KnownConfiguration({
      service: options.service,
      now: this.#surroundings.now,
      onAnswer: (error) => error === null ? this.#trouble = "" : this.#complain(error),
    });
  }

  /** Runs until the signal is aborted. Then restores the peers' own endpoints. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener("abort", () => this.#isOver = true);
    const left = await readPathState(this.#options.stateFile);
    await this.#restore(left?.peers ?? []);
    await removePathState(this.#options.stateFile);
    try {
      while (!signal.aborted) {
        await this.#step().catch((error) => this.#complain(error));
        if (this.#end !== null) throw this.#end;
        await pause(STEP, signal).catch(() => {});
      }
    } finally {
      const forwarded = this.#forwarded();
      // First: with the next packet from a port, the kernel would send to that port again.
      this.#close();
      await this.#restore(forwarded);
      await removePathState(this.#options.stateFile);
    }
  }

  async #step(): Promise<void> {
    const state = await this.#options.kernel.state();
    const [now, unixTime] = [this.#surroundings.now(), this.#surroundings.unixTime()];
    const peers = state?.peers ?? [];
    const forwarded = this.#open?.forwarder.publicKeys ?? [];
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
      await this.#keepPorts(state);
    }
    // A loopback endpoint that is no port of this process is left from a killed one.
    const needing = state.peers.filter(({ publicKey, endpoint }) =>
      !this.#open?.forwarder.portOf(publicKey) &&
      (this.#watch.isBroken(publicKey, now) || isLoopback(endpoint))
    );
    const hasPorts = (this.#open?.forwarder.publicKeys.length ?? 0) > 0;
    if (needing.length > 0 || hasPorts) this.#neededAt = now;
    else {
      if (this.#open !== null && now - this.#neededAt > KEEP_OPEN) this.#close();
      return;
    }
    const forwarder = await this.#opened(state);
    await this.#refresh(state);
    for (const { publicKey, endpoint } of needing) await this.#takeOver(publicKey, endpoint);
    this.#setPeers();
    forwarder.punch();
    for (const { publicKey } of state.peers) await this.#tell(publicKey, now);
  }

  /** Handles peers at another endpoint than their port: they sent from it, or someone set it. */
  async #keepPorts({ peers }: KernelState): Promise<void> {
    const { forwarder } = this.#open!;
    const guests = peers.filter(({ endpoint }) => forwarder.isGuests(portOn(endpoint)));
    for (const { publicKey, endpoint } of peers) {
      const port = forwarder.portOf(publicKey);
      forwarder.setHandshake(publicKey, this.#watch.handshakeAt(publicKey));
      if (port === null || endpoint === `${LOOPBACK}${port}`) continue;
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

  async #opened({ publicKey, listenPort }: KernelState): Promise<Forwarder> {
    if (this.#open !== null) return this.#open.forwarder;
    const { stunServers, service, openSocket = openUdpSocket } = this.#options;
    const surroundings = this.#surroundings;
    const paths = await Paths.open({
      surroundings,
      stunServers,
      openSocket,
      iceServers: () => service.relay(),
      onChange: () => {},
    });
    const forwarder = new Forwarder({
      surroundings,
      publicKey,
      send: (datagram, to) => {
        // A peer's name may resolve into the mesh. The tunnel would then carry its own packets.
        if (!isInside(to.address, this.#known.inside)) paths.send(datagram, to);
      },
      rankOf: paths.rankOf,
      openSocket,
    });
    forwarder.kernelPort = listenPort;
    this.#open = { paths, forwarder };
    paths.attach(forwarder);
    await paths.whenGathered();
    return forwarder;
  }

  /**
   * Asks for the configuration if the agent has a new one, or if a peer without a path may have
   * registered other endpoints.
   */
  async #refresh({ peers }: KernelState): Promise<void> {
    const { configurationFile } = this.#options;
    const changed = await stat(configurationFile).then(({ mtimeMs }) => String(mtimeMs), () => "");
    const wanting = peers.filter(({ publicKey }) => !this.#watch.works(publicKey));
    const names = wanting.map(({ publicKey }) => publicKey).join(" ");
    const answered = this.#known.refresh(changed, names);
    // Wait only briefly: the work for known peers must continue.
    if (answered !== null) await Promise.race([answered, pause(STEP)]);
  }

  /** Takes over a peer's packets, if there is an endpoint where the peer may be. */
  async #takeOver(publicKey: string, endpoint: string | null): Promise<void> {
    const { paths, forwarder } = this.#open!;
    const peer = this.#peer(publicKey);
    if (peer === undefined || paths.candidates(peer).length === 0) return;
    this.#before.set(publicKey, isLoopback(endpoint) ? null : endpoint);
    const port = await forwarder.open(publicKey);
    this.#teller.want(publicKey, this.#surroundings.now());
    // Before `setEndpoint`: the first handshake needs the paths, and the agent the state file.
    this.#setPeers();
    await this.#write();
    await this.#options.kernel.setEndpoint(publicKey, `${LOOPBACK}${port}`);
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
    const name = this.#nameOf(publicKey);
    if (heir === null) this.#open!.forwarder.close(publicKey);
    else this.#before.set(heir, this.#before.get(publicKey) ?? null);
    this.#before.delete(publicKey);
    this.#setPeers();
    await this.#teller.tellReleased(publicKey, name);
  }

  async #tell(publicKey: string, now: number): Promise<void> {
    const report = this.#forwarded().find((peer) => peer.publicKey === publicKey);
    if (report === undefined && this.#watch.works(publicKey)) {
      return this.#teller.isReached(publicKey);
    }
    const name = this.#nameOf(publicKey);
    const { hasRelay } = this.#open!.paths;
    await this.#teller.tell({ publicKey, name, report, hasRelay, now });
  }

  #forwarded(): ForwardedPeer[] {
    if (this.#open === null) return [];
    const { paths, forwarder } = this.#open;
    const reports = new Map(paths.reports().map((report) => [report.publicKey, report]));
    return forwarder.publicKeys.map((publicKey) => {
      const report = reports.get(publicKey);
      const via = this.#watch.works(publicKey) ? report?.via ?? "none" : "none";
      const before = this.#before.get(publicKey) ?? null;
      const endpoint = `${LOOPBACK}${forwarder.portOf(publicKey)}`;
      return { publicKey, endpoint, via, outer: report?.endpoint ?? null, before };
    });
  }

  async #write(): Promise<void> {
    if (this.#open === null) {
      if (this.#written !== "") await removePathState(this.#options.stateFile);
      return void (this.#written = "");
    }
    const state = { endpoints: this.#endpoints(this.#open.paths), peers: this.#forwarded() };
    const text = JSON.stringify(state);
    const now = this.#surroundings.now();
    // Rewrite even an unchanged file: the agent takes an old one for that of a killed process.
    if (text === this.#written && now - this.#writtenAt < WRITE_AGAIN) return;
    await writePathState(this.#options.stateFile, state);
    [this.#written, this.#writtenAt] = [text, now];
  }

  /** The endpoints outside of the tunnel. The service refuses those inside. */
  #endpoints(paths: Paths): string[] {
    const { inside } = this.#known;
    if (inside.length === 0) return [];
    return paths.endpoints().filter((text) => !isInside(parseEndpoint(text)!.host, inside));
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

  /** Reports a repeated error only once. Retries at the next step, unless the key was refused. */
  #complain(error: unknown): void {
    if (this.#isOver) return;
    if (error instanceof AgentError && ["unauthenticated", "forbidden"].includes(error.code)) {
      this.#end = error;
      return;
    }
    const message = error instanceof Error ? error.message : String(error);
    if (message !== this.#trouble) this.#options.onTrouble(message);
    this.#trouble = message;
  }
}
