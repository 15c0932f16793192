import type { MeshConfiguration } from "../../service.ts";
import { PacketFilter } from "../../ip/filter/packet_filter.ts";
import { IpStack } from "../../ip/ip_stack.ts";
import { readLwip } from "../../ip/read_lwip.ts";
import { NeighbourShares, type NeighbourUse } from "../../ip/shares/neighbour_shares.ts";
import type { TcpConnection } from "../../ip/tcp_connection.ts";
import { TcpError } from "../../ip/tcp_error.ts";
import { UdpPorts } from "../../ip/udp/udp_ports.ts";
import { Paths, type PathsOptions } from "../../paths/paths.ts";
import type { ByteStream } from "../byte_stream.ts";
import { systemSurroundings } from "../../wireguard/system_surroundings.ts";
import { Tunnel } from "../../wireguard/tunnel.ts";
import type {
  Accept,
  ConnectTo,
  Engine,
  EngineHooks,
  EngineOptions,
  EngineUdpPort,
  PeerState,
} from "./engine.ts";
import type { Flow, Refusal } from "../flows/flow.ts";
import { FlowLog, type OpenFlow } from "../flows/flow_log.ts";
import { FlowWatch, opensConnection } from "./flow_watch.ts";
import { isReset, pingOf } from "./packets.ts";
import { addressesByPeer, addressOf, filterRules } from "./rules.ts";
import { RuledStream } from "./ruled_stream.ts";

/** How an engine meets the network outside. Default: as a program of this machine. */
export type Outside = Pick<PathsOptions, "openSocket" | "localAddresses" | "lookUp">;

/**
 * Opens an engine in this thread: while the thread is busy, no packet moves. Rejects as Paths.open.
 */
export async function openLocalEngine(
  options: EngineOptions,
  hooks: EngineHooks,
  outside: Outside = {},
): Promise<Engine> {
  const wasm = await readLwip();
  const surroundings = systemSurroundings();
  const { listenPort, stunServers, proxy } = options;
  const paths = await Paths.open({
    ...outside,
    surroundings,
    iceServers: hooks.iceServers,
    onChange: () => hooks.onEndpoints(paths.endpoints()),
    ...(listenPort !== undefined && { listenPort }),
    ...(stunServers !== undefined && { stunServers }),
    ...(proxy !== undefined && { proxy: proxy === null ? null : new URL(proxy) }),
  });
  const engine = new LocalEngine(wasm, { paths, hooks });
  const tunnel = new Tunnel({
    privateKey: options.privateKey,
    surroundings,
    send: paths.send,
    mayMove: paths.mayMove,
    onPacket: (packet) => engine.receive(packet),
  });
  engine.start(tunnel);
  return engine;
}

interface Listening {
  readonly port: number;
  readonly accept: Accept;
  end: () => void;
}

class LocalEngine implements Engine {
  readonly #wasm: WebAssembly.Module;
  readonly #paths: Paths;
  readonly #hooks: EngineHooks;
  #tunnel!: Tunnel;
  #filter: PacketFilter = new PacketFilter({ addresses: [], peers: [] }, {
    connections: () => this.#stack?.connections ?? [],
    isUdpAnswer: (packet) => this.#udp.isAnswer(packet),
    onRefused: (packet) => this.#flows.refused(packet, "no_rule"),
  });
  readonly #log: FlowLog;
  readonly #flows: FlowWatch;
  /** Null until the first configuration tells the addresses. */
  #stack: IpStack | null = null;
  #addresses: readonly string[] = [];
  readonly #shares: NeighbourShares = new NeighbourShares({
    isListening: (port) => this.#stack?.isListening(port) ?? false,
  });
  readonly #udp: UdpPorts = new UdpPorts({
    mayReceive: (source, port) => this.#filter.mayReceiveUdp(source, port),
    maySend: (destination, port) => this.#filter.maySendUdp(destination, port),
    ownerOf: (address) => this.#shares.ownerOf(address),
    mayAnswer: (owner) => this.#shares.mayAnswer(owner),
    onFlow: (flow) => this.#flows.exchanges(flow),
    onLost: (packet, why) => this.#flows.refused(packet, why),
    onDropped: (owner) => this.#shares.refuse(owner),
    onOutput: (packet) => void this.#tunnel.sendPacket(packet),
  });
  #listening = new Set<Listening>();
  #streams = new WeakMap<TcpConnection, RuledStream>();
  /** True while resets of revoked connections may leave, although no rule allows them any more. */
  #isResetting = false;
  /** Configurations are applied one after the other. */
  #configured: Promise<void> = Promise.resolve();

  constructor(
    wasm: WebAssembly.Module,
    { paths, hooks }: { readonly paths: Paths; readonly hooks: EngineHooks },
  ) {
    this.#wasm = wasm;
    this.#paths = paths;
    this.#hooks = hooks;
    this.#log = new FlowLog(hooks.onFlow);
    this.#flows = new FlowWatch(this.#log);
  }

  start(tunnel: Tunnel): void {
    this.#tunnel = tunnel;
    this.#paths.attach(tunnel);
  }

  get publicKey(): string {
    return this.#tunnel.publicKey;
  }

  endpoints(): Promise<readonly string[]> {
    return Promise.resolve(this.#paths.endpoints());
  }

  configure(configuration: MeshConfiguration): Promise<void> {
    const apply = () => this.#configure(configuration);
    return this.#configured = this.#configured.then(apply, apply);
  }

  /** Takes a packet of the tunnel, which has checked that its source address is the peer's. */
  receive(packet: Uint8Array): void {
    const allowed = this.#filter.allowed(packet);
    if (allowed === null) return;
    if (allowed.kind === "udp") return this.#udp.input(packet, allowed);
    if (!this.#shares.admits(allowed)) return this.#flows.refused(allowed, "too_many");
    if (opensConnection(allowed) && this.#stack?.isListening(allowed.destinationPort) === false) {
      this.#flows.refused(allowed, "nothing_listens");
    }
    this.#stack?.input(packet);
  }

  async connect({ address, port, signal }: ConnectTo): Promise<ByteStream> {
    await this.#configured;
    if (this.#stack === null) throw new TcpError("ENETUNREACH");
    const startedAt = Date.now();
    try {
      const connection = await this.#stack.connect({ address, port, ...(signal && { signal }) });
      return this.#ruled(connection, this.#flows.connected(connection, startedAt));
    } catch (error) {
      this.#flows.failed({ address, port, signal }, error);
      throw error;
    }
  }

  flows(): Promise<readonly Flow[]> {
    return Promise.resolve(this.#log.all());
  }

  refused(refusal: Refusal): void {
    this.#log.refused(refusal);
  }

  // deno-lint-ignore require-await -- If the port is taken, it must reject, not throw.
  async listen(port: number, accept: Accept): Promise<() => void> {
    const listening: Listening = { port, accept, end: () => {} };
    if ([...this.#listening].some((other) => other.port === port)) throw new TcpError("EADDRINUSE");
    this.#begin(listening);
    this.#listening.add(listening);
    return () => {
      this.#listening.delete(listening);
      listening.end();
    };
  }

  // deno-lint-ignore require-await -- If the port is taken, it must reject, not throw.
  async bindUdp(wanted: number): Promise<EngineUdpPort> {
    const { port, receive, send, close } = this.#udp.bind(wanted);
    // deno-lint-ignore require-await -- It must reject, not throw.
    return { port, receive, close, send: async (data, to) => send(data, to) };
  }

  peers(): readonly PeerState[] {
    const bytes = new Map(this.#tunnel.stats().map((stats) => [stats.publicKey, stats]));
    return this.#paths.reports().map((report) => ({
      ...report,
      receivedBytes: bytes.get(report.publicKey)?.receivedBytes ?? 0,
      sentBytes: bytes.get(report.publicKey)?.sentBytes ?? 0,
      use: this.#useOf(report.publicKey),
    }));
  }

  async close(): Promise<void> {
    // Wait for a configuration that is being applied, so that it opens nothing after `close`.
    await this.#configured.catch(() => {});
    this.#stack?.close();
    this.#udp.close();
    // Node sends datagrams with a short delay. Let the resets leave before the sockets close.
    await new Promise((resolve) => setTimeout(resolve, 10));
    this.#tunnel.close();
    this.#paths.close();
    this.#log.close();
  }

  #useOf(peer: string): NeighbourUse {
    const use = this.#shares.useOf(peer);
    return { ...use, heldBytes: use.heldBytes + this.#udp.heldBy(peer) };
  }

  async #configure(configuration: MeshConfiguration): Promise<void> {
    this.#flows.update(configuration);
    await this.#useAddresses(configuration);
    const stack = this.#stack!;
    this.#filter.update(filterRules(configuration));
    this.#shares.update(addressesByPeer(configuration));
    const { mtu } = configuration.interface;
    this.#udp.update({ addresses: this.#addresses.map(addressOf), mtu });
    this.#isResetting = true;
    const isRevoked = (connection: TcpConnection) => !this.#filter.allowsConnection(connection);
    const revoked = stack.reset((connection) => {
      if (!isRevoked(connection)) return false;
      this.#streams.get(connection)?.revoke();
      return true;
    });
    // Let the resets leave before `setPeers` removes their peers.
    if (revoked > 0) await new Promise((resolve) => setTimeout(resolve, 0));
    this.#isResetting = false;
    this.#paths.setPeers(configuration.peers.map((peer) => ({
      publicKey: peer.public_key,
      presharedKey: peer.preshared_key,
      allowedIps: peer.allowed_ips,
      endpoints: peer.endpoints,
      observed_endpoint: peer.observed_endpoint,
      persistentKeepaliveSeconds: peer.persistent_keepalive,
      ping: pingOf(configuration.interface.addresses, peer.allowed_ips),
    })));
  }

  /**
   * Creates a new stack if the addresses have changed. That is rare: an agent keeps its addresses,
   * unless its peer was removed for longer than a day.
   */
  async #useAddresses({ interface: { addresses, mtu } }: MeshConfiguration): Promise<void> {
    if (this.#stack !== null && addresses.join() === this.#addresses.join()) return;
    const stack = await IpStack.create({
      wasm: this.#wasm,
      addresses: addresses.map(addressOf),
      mtu,
      watcher: {
        opens: (facts) => this.#shares.opens(facts),
        accepts: (facts, drop) => {
          const watch = this.#shares.accepts(facts, drop);
          if (watch === null) this.#flows.hasNoPlace(facts);
          return watch;
        },
      },
      onOutput: (packets) => this.#send(packets),
      onFailure: (error) => this.#hooks.onFailure(error),
    });
    this.#stack?.close();
    this.#stack = stack;
    this.#addresses = addresses;
    for (const listening of this.#listening) this.#begin(listening);
  }

  #begin(listening: Listening): void {
    if (this.#stack === null) return;
    const listener = this.#stack.listen(listening.port, (connection) => {
      const { remoteAddress: address, remotePort: port } = connection;
      const stream = this.#ruled(connection, this.#flows.accepted(connection));
      listening.accept(stream, { address, port });
    });
    listening.end = () => listener.close();
  }

  #ruled(connection: TcpConnection, flow: OpenFlow): RuledStream {
    const stream = new RuledStream(connection, flow);
    this.#streams.set(connection, stream);
    return stream;
  }

  #send(packets: readonly Uint8Array[]): void {
    for (const packet of packets) {
      if (this.#filter.sends(packet) || (this.#isResetting && isReset(packet))) {
        this.#tunnel.sendPacket(packet);
      }
    }
  }
}
