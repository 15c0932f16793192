import {
  AgentError,
  type Connection,
  type MeshConfiguration,
  type MeshEvent,
  type Peer,
  type SentPath,
} from "../service.ts";
import type { Engine, EngineOptions, OpenEngine } from "./engine/engine.ts";
import { TcpError } from "../ip/tcp_error.ts";
import type { Flow } from "./flows/flow.ts";
import { MeshUdpSocket } from "./datagrams/mesh_udp_socket.ts";
import { endOf, MeshError, unreachable } from "./mesh_error.ts";
import type { RelayAnswer } from "../paths/paths.ts";
import { onClockJump } from "./service/clock_jumps.ts";
import { Follower } from "./service/follower.ts";
import { type KnownPeer, knownPeers } from "./service/known_peers.ts";
import { findPeer, mayReach } from "./service/names.ts";
import { RefusedReport } from "./service/refused_report.ts";
import { Registrar } from "./service/registrar.ts";
import { Registration } from "./service/registration.ts";
import type { ByteStream } from "./byte_stream.ts";
import type { From } from "./from.ts";

export interface MemberOptions {
  readonly connection: Connection;
  readonly engineOptions: EngineOptions;
  readonly openEngine: OpenEngine;
  /** Gives up joining. Has no effect after that. */
  readonly signal: AbortSignal | undefined;
  readonly onChange: () => void;
  readonly onFlow?: ((flow: Flow) => void) | undefined;
}

const REGISTRATIONS: readonly string[] = ["peer.registered", "peer.updated"];
/** How often to check whether a path has changed, in milliseconds. */
const PATHS_MS = 5000;
/** How often to retry the registration of endpoints, if it failed, in milliseconds. */
const REGISTER_AGAIN_MS = 30_000;

/** An agent in the mesh: its registration, its configuration and its engine. */
export class Member {
  /**
   * Resolves when the membership is over: to null after `close`, else to the error that ended it.
   */
  readonly ended: Promise<Error | null>;
  readonly #options: MemberOptions;
  readonly #over = new AbortController();
  readonly #follower: Follower;
  #engine!: Engine;
  #registrar!: Registrar;
  #self!: Peer;
  #endpoints: readonly string[] = [];
  readonly #hasRelay: Promise<void>;
  #resolveHasRelay!: () => void;
  #configuration: MeshConfiguration | null = null;
  #toldPaths = "";
  readonly #refused: RefusedReport;
  #end: Error | null = null;
  #resolveEnded!: (error: Error | null) => void;
  #stops: (() => void)[] = [];

  private constructor(options: MemberOptions) {
    this.#options = options;
    this.ended = new Promise((resolve) => this.#resolveEnded = resolve);
    this.#hasRelay = new Promise((resolve) => this.#resolveHasRelay = resolve);
    this.#refused = new RefusedReport(options.connection, {
      signal: this.#over.signal,
      onSent: () => this.#follower.askAgain(),
    });
    this.#follower = new Follower(options.connection, {
      apply: (configuration) => this.#apply(configuration),
      paths: () => this.#paths(),
      register: () => this.#registrar.startOver(),
      onEvents: (events) => this.#onEvents(events),
    }, this.#over.signal);
  }

  /** Rejects with AgentError, or with the error of the engine. */
  static async join(options: MemberOptions): Promise<Member> {
    const member = new Member(options);
    const { signal } = options;
    const giveUp = () => member.#over.abort(signal!.reason);
    if (signal?.aborted) giveUp();
    signal?.addEventListener("abort", giveUp, { once: true });
    try {
      await member.#start();
      return member;
    } catch (error) {
      await member.#finish(null);
      throw error;
    } finally {
      signal?.removeEventListener("abort", giveUp);
    }
  }

  get agentId(): string {
    return this.#self.agent_id;
  }

  get name(): string {
    return this.#self.name;
  }

  get addresses(): readonly string[] {
    return this.#self.addresses;
  }

  /** Rejects with MeshError, TcpError, or the signal's reason. */
  async connect(
    { host, port, signal }: {
      readonly host: string;
      readonly port: number;
      readonly signal?: AbortSignal | undefined;
    },
  ): Promise<{ readonly stream: ByteStream; readonly remote: From }> {
    signal?.throwIfAborted();
    const found = this.#find(host, port) ?? await this.#findAgain(host, port);
    signal?.throwIfAborted();
    const { peer: { agent_id: agentId, name }, address } = found;
    const stream = await this.#engine.connect({ address, port, signal })
      .catch((error) => Promise.reject(this.#explained(error, agentId)));
    return { stream, remote: { address, port, agentId, name } };
  }

  /** Resolves to a function that stops listening. Rejects with MeshError or TcpError. */
  async listen(
    port: number,
    accept: (stream: ByteStream, from: From) => void,
  ): Promise<() => void> {
    this.#requireMember();
    return await this.#engine.listen(port, (stream, remote) => {
      const found = this.#configuration && findPeer(this.#configuration, remote.address);
      if (found === null) return stream.abort();
      const { agent_id: agentId, name } = found.peer;
      accept(stream, { ...remote, agentId, name });
    });
  }

  /** Opens a UDP port. Rejects with MeshError, or with TcpError if the port is taken. */
  async udp(port: number): Promise<MeshUdpSocket> {
    this.#requireMember();
    return new MeshUdpSocket(await this.#engine.bindUdp(port), {
      configuration: () => this.#requireMember(),
      refused: (refusal) => this.#engine.refused(refusal),
    });
  }

  peers(): KnownPeer[] {
    if (this.#configuration === null) return [];
    return knownPeers(this.#configuration, {
      states: this.#engine.peers(),
      ownEndpoints: this.#endpoints,
    });
  }

  async flows(): Promise<readonly Flow[]> {
    this.#requireMember();
    return await this.#engine.flows();
  }

  async close(): Promise<void> {
    await this.#finish(null);
  }

  async #start(): Promise<void> {
    const { openEngine, engineOptions, connection } = this.#options;
    this.#engine = await openEngine(engineOptions, {
      iceServers: () => this.#iceServers(),
      onEndpoints: (endpoints) => this.#onEndpoints(endpoints),
      onFlow: this.#options.onFlow,
      onRefused: (flow) => this.#refused.add(flow),
      onFailure: (cause) => void this.#finish(new MeshError("broken", cause.message, { cause })),
    });
    this.#endpoints = await this.#engine.endpoints();
    this.#registrar = new Registrar(new Registration(connection, this.#engine.publicKey), {
      endpoints: () => this.#endpoints,
      onRegistered: (self) => this.#self = self,
      signal: this.#over.signal,
    });
    await this.#follower.start();
    this.#over.signal.throwIfAborted();
    this.#follower.run().catch((error) => this.#finish(endOf(error)));
    const timers = [
      setInterval(() => this.#tellPaths(), PATHS_MS),
      setInterval(() => this.#registrar.registerMissed(), REGISTER_AGAIN_MS),
    ];
    this.#stops = [
      () => timers.forEach(clearInterval),
      onClockJump(() => this.#follower.askAgain()),
    ];
  }

  #onEndpoints(endpoints: readonly string[]): void {
    this.#endpoints = endpoints;
    this.#registrar?.registerMissed();
  }

  async #apply(configuration: MeshConfiguration): Promise<void> {
    // Set it at once, for connections that begin now. The engine applies configurations in order.
    this.#configuration = configuration;
    if (configuration.relay) this.#resolveHasRelay();
    await this.#engine.configure(configuration);
    this.#options.onChange();
  }

  async #onEvents(events: readonly MeshEvent[]): Promise<void> {
    const isRegistered = events.some(({ type, agent_id }) =>
      agent_id === this.#self.agent_id && REGISTRATIONS.includes(type)
    );
    if (!isRegistered || await this.#registrar.isNewest()) return;
    throw new MeshError(
      "superseded",
      `Another process has joined as ${this.#self.agent_id}. An agent has one place in the mesh.`,
    );
  }

  /** Waits until the operator sets a relay. */
  async #iceServers(): Promise<RelayAnswer | null> {
    await this.#hasRelay;
    const { connection } = this.#options;
    const { signal } = this.#over;
    const options = { signal, retrySeconds: 0 };
    try {
      return await connection.post<RelayAnswer>("/relay", {}, options);
    } catch (error) {
      if (error instanceof AgentError && error.code === "misconfigured") return null;
      throw error;
    }
  }

  #find(host: string, port: number) {
    const configuration = this.#requireMember();
    const found = findPeer(configuration, host);
    return found !== null && mayReach(configuration, found.peer, port) ? found : null;
  }

  /** Looks again with a new configuration: the rule may have become active just now. */
  async #findAgain(host: string, port: number) {
    await this.#follower.refreshSoon();
    const found = this.#find(host, port);
    if (found !== null) return found;
    const peer = findPeer(this.#requireMember(), host)?.peer ?? null;
    this.#engine.refused({
      proto: "tcp",
      direction: "out",
      peer: { agentId: peer?.agent_id ?? null, name: peer?.name ?? host },
      port,
      reason: peer === null ? "unknown_peer" : "no_rule",
    });
    throw unreachable({ agentId: this.agentId, isKnown: peer !== null, host, port, proto: "tcp" });
  }

  /** Adds to a timeout why there is no path to the peer, as far as that can be known. */
  #explained(error: unknown, agentId: string): unknown {
    if (!(error instanceof TcpError) || error.code !== "ETIMEDOUT") return error;
    const reason = this.peers().find((peer) => peer.agentId === agentId)?.reason ?? null;
    return reason === null ? error : new TcpError("ETIMEDOUT", { reason, cause: error });
  }

  #requireMember(): MeshConfiguration {
    if (this.#end !== null) throw this.#end;
    return this.#configuration!;
  }

  #paths(): SentPath[] {
    const paths = this.peers().map((peer) => ({
      agent_id: peer.agentId,
      handshake_age_seconds: peer.handshakeAgeSeconds,
      endpoint: peer.endpoint,
      via: peer.via,
    }));
    this.#toldPaths = summaryOf(paths);
    return paths;
  }

  /** Reports paths at once when one is found or lost. Handshake ages only go with each request. */
  #tellPaths(): void {
    const before = this.#toldPaths;
    this.#paths();
    if (before !== this.#toldPaths) this.#follower.askAgain();
  }

  async #finish(error: Error | null): Promise<void> {
    if (this.#end !== null) return void await this.ended;
    this.#end = error ?? new MeshError("closed", "The mesh was left.");
    this.#over.abort(this.#end);
    for (const stop of this.#stops) stop();
    this.#refused.close();
    await this.#engine?.close();
    this.#resolveEnded(error);
  }
}

function summaryOf(paths: readonly SentPath[]): string {
  return JSON.stringify(paths.map(({ agent_id, via, endpoint }) => [agent_id, via, endpoint]));
}
