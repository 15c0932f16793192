/**
 * Finds ways to the peers of a kernel's interface that it does not reach itself, and has their
 * packets forwarded. While it reaches all of them, nothing is open, and nothing is asked.
 */
import { stat } from "node:fs/promises";
import { AgentError } from "../../errors/agent_error.ts";
import { pause } from "../../http/retries.ts";
import { Paths } from "../../paths/paths.ts";
import { parseEndpoint } from "../../paths/places/address_kinds.ts";
import { openUdpSocket } from "../../wireguard/sockets/udp_socket.ts";
import { systemSurroundings } from "../../wireguard/system_surroundings.ts";
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
/** After the last peer that needs a way, the relay and the socket are kept for so long. */
const KEEP_OPEN = 300_000;

export interface PathKeeperOptions {
  readonly kernel: Kernel;
  readonly service: PathService;
  /** Where the reference agent looks for what this does. */
  readonly stateFile: string;
  /** The agent's own. Another configuration is in force when it changes. */
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
  /** By public key. */
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

  /** Until the signal. Then peers have their own endpoints again. */
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
    // A port that is not of this process is that of one that was killed.
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

  /** A peer at another endpoint than its port has called from there, or was set by somebody. */
  async #keepPorts({ peers }: KernelState): Promise<void> {
    const { forwarder } = this.#open!;
    const guests = peers.filter(({ endpoint }) => forwarder.isGuests(portOn(endpoint)));
    for (const { publicKey, endpoint } of peers) {
      const port = forwarder.portOf(publicKey);
      forwarder.setHandshake(publicKey, this.#watch.handshakeAt(publicKey));
      if (port === null || endpoint === `${LOOPBACK}${port}`) continue;
      // It has called from there, and the kernel has answered: a direct way works again.
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
        // A peer's name may resolve into the mesh: the tunnel would carry its own packets.
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

  /** When the agent has another configuration, or a peer without a way may have told of one. */
  async #refresh({ peers }: KernelState): Promise<void> {
    const { configurationFile } = this.#options;
    const changed = await stat(configurationFile).then(({ mtimeMs }) => String(mtimeMs), () => "");
    const wanting = peers.filter(({ publicKey }) => !this.#watch.works(publicKey));
    const names = wanting.map(({ publicKey }) => publicKey).join(" ");
    const answered = this.#known.refresh(changed, names);
    // Not for long: what is known already has to go on.
    if (answered !== null) await Promise.race([answered, pause(STEP)]);
  }

  /** Once the peer has told of a place where it may be. */
  async #takeOver(publicKey: string, endpoint: string | null): Promise<void> {
    const { paths, forwarder } = this.#open!;
    const peer = this.#peer(publicKey);
    if (peer === undefined || paths.candidates(peer).length === 0) return;
    this.#before.set(publicKey, isLoopback(endpoint) ? null : endpoint);
    const port = await forwarder.open(publicKey);
    this.#teller.want(publicKey, this.#surroundings.now());
    // First, so that the first handshake finds them. The agent learns of it before it looks.
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

  /** `heir`: who has its port from now on. */
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
    // Also when nothing has changed: the agent takes an old file for that of one that was killed.
    if (text === this.#written && now - this.#writtenAt < WRITE_AGAIN) return;
    await writePathState(this.#options.stateFile, state);
    [this.#written, this.#writtenAt] = [text, now];
  }

  /** Outside of the tunnel. The service refuses those inside. */
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

  /** Once for each, until another one. The service may be back at the next step. */
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
