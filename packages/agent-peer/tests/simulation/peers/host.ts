import type { MeshConfiguration } from "../../../service.ts";
import type { Accept, Engine, EngineUdpPort } from "../../../mesh/engine/engine.ts";
import { openLocalEngine } from "../../../mesh/engine/local_engine.ts";
import type { UdpOptions } from "../../../wireguard/sockets/udp_socket.ts";
import type { Random } from "../../../../../tests/seeds/random.ts";
import { Clock } from "../clock/clock.ts";
import type { Timeline } from "../clock/timeline.ts";
import type { Envelope, Place } from "../network/router.ts";
import { isSame, type Rule, type Service } from "./service.ts";

/** How many datagrams the kernel keeps for a program that does not read: about 4 MiB. */
const MOST_WAITING = 3000;
/** How often a host reports its paths, in milliseconds. */
const REPORT_EVERY = 5000;

export interface HostOptions {
  readonly name: string;
  /** Its address in the network that it is in. */
  readonly address: string;
  /** 0: another port after each restart. */
  readonly listenPort: number;
  readonly stunServers: readonly string[];
  readonly ports: readonly number[];
  readonly timeline: Timeline;
  readonly random: Random;
  readonly service: Service;
  readonly leave: (envelope: Envelope) => void;
  readonly note: (text: string) => void;
  readonly accept: (host: Host, port: number) => Accept;
  /** Takes the datagrams that come to a UDP port. */
  readonly serve: (host: Host, socket: EngineUdpPort) => Promise<void>;
  /** Something that a program must never do. */
  readonly complain: (text: string) => void;
}

/** A machine with a program that has joined the mesh. */
export class Host {
  readonly name: string;
  readonly clock: Clock;
  engine: Engine | null = null;
  /** When the program last began, or went on after a pause. */
  freshAt = 0;
  /** Counts the programs that have run here. */
  life = 0;
  /** The rules that the engine enforces, and those that it is about to enforce. */
  enforced: readonly Rule[] = [];
  coming: readonly Rule[] = [];
  readonly #options: HostOptions;
  readonly #privateKey: Uint8Array;
  readonly #sockets = new Map<number, UdpOptions["onDatagram"]>();
  #waiting: Envelope[] = [];
  #nextPort: number;
  #paths = new Map<string, string>();

  constructor(options: HostOptions) {
    this.#options = options;
    this.name = options.name;
    this.clock = new Clock(options.timeline, options.random.fork());
    this.#privateKey = Uint8Array.from({ length: 32 }, () => options.random.below(256));
    this.#nextPort = 30_000 + options.random.below(20_000);
    options.service.add(this.name, () => this.#fetch());
  }

  /** Starts the program. The timeline waits for it. */
  start(): void {
    const { timeline } = this.#options;
    this.life += 1;
    this.freshAt = timeline.now;
    timeline.current = this.clock;
    timeline.hold(this.#start(this.life).catch((error) => this.#options.complain(String(error))));
  }

  /** The program ends: by its own will, with resets, or at once, silently. */
  async stop(how: "closes" | "is killed"): Promise<void> {
    const { engine } = this;
    this.engine = null;
    this.life += 1;
    if (how === "closes") {
      const { life } = this;
      await engine?.close();
      if (life !== this.life) return;
    }
    this.clock.kill();
    this.#sockets.clear();
    this.#waiting = [];
    this.enforced = this.coming = [];
    this.#paths.clear();
  }

  receive(envelope: Envelope): void {
    const { pause } = this.clock;
    if (pause === "asleep" || this.#waiting.length >= MOST_WAITING) return;
    this.#waiting.push(envelope);
    if (this.#waiting.length > 1) return;
    const { timeline } = this.#options;
    timeline.at(timeline.now, () => this.#deliver(), this.clock);
  }

  /** Whether this host lets a rule's traffic through now. */
  lets(rule: Rule): boolean {
    return [...this.enforced, ...this.coming].some((one) => isSame(one, rule));
  }

  /** Bytes of WebAssembly memory. */
  get memoryBytes(): number {
    return this.clock.memories.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
  }

  async #start(life: number): Promise<void> {
    const { listenPort, stunServers, service, ports, accept, serve, complain } = this.#options;
    const isOver = () => life !== this.life;
    let engine: Engine | null = null;
    const register = async () => {
      if (engine === null || isOver()) return;
      service.register(this.name, engine.publicKey, await engine.endpoints());
    };
    engine = await openLocalEngine(
      { privateKey: this.#privateKey, listenPort, stunServers, proxy: null },
      {
        iceServers: () => new Promise(() => {}),
        onEndpoints: () => void register(),
        onFailure: (error) => complain(`${this.name}: ${error.message} ${error.cause}`),
      },
      {
        openSocket: (options) => Promise.resolve(this.#openSocket(options)),
        localAddresses: () => [this.#options.address],
        lookUp: () => Promise.reject(new Error("There are no names.")),
      },
    );
    this.engine = engine;
    for (const port of ports) {
      await engine.listen(port, accept(this, port));
      void serve(this, await engine.bindUdp(port));
    }
    await this.#apply();
    await register();
    setInterval(() => this.#report(), REPORT_EVERY);
  }

  #openSocket({ port, via, onDatagram }: UdpOptions) {
    const { address, leave } = this.#options;
    const own = port === 0 ? this.#nextPort++ : port;
    this.#sockets.set(own, onDatagram);
    return {
      via,
      port: own,
      families: ["ipv4" as const],
      send(datagram: Uint8Array, to: Place) {
        const envelope = { from: { address, port: own }, to, datagram, length: datagram.length };
        if (!to.address.includes(":")) leave(envelope);
      },
      close: () => void this.#sockets.delete(own),
    };
  }

  #deliver(): void {
    for (const { from, to, datagram } of this.#waiting.splice(0)) {
      this.#sockets.get(to.port)?.(datagram, { ...from, via: "udp" });
    }
  }

  /** The program asks for its configuration, and gets it a little later. */
  #fetch(): void {
    const { timeline, random } = this.#options;
    const { life } = this;
    const wait = 50 + random.below(1500);
    timeline.at(timeline.now + wait, () => {
      if (life === this.life && this.engine !== null) void this.#apply();
    }, this.clock);
  }

  async #apply(): Promise<void> {
    const { service, complain } = this.#options;
    const { life } = this;
    const configuration = service.configurationOf(this.name);
    this.coming = rulesOf(configuration);
    const { coming } = this;
    await this.engine?.configure(configuration)
      .catch((error) => complain(`${this.name} cannot apply a configuration: ${error}`));
    if (life === this.life && coming === this.coming) this.enforced = coming;
  }

  #report(): void {
    const { service, note } = this.#options;
    if (this.engine === null) return;
    const states = this.engine.peers();
    service.report(this.name, states);
    const { peers } = service.configurationOf(this.name);
    for (const { publicKey, via, endpoint } of states) {
      const peer = peers.find(({ public_key }) => public_key === publicKey)?.agent_id;
      if (peer === undefined) continue;
      const path = via === "none" ? "no path" : `${via} at ${endpoint}`;
      if (this.#paths.get(peer) !== path) note(`${this.name} → ${peer}: ${path}`);
      this.#paths.set(peer, path);
    }
  }
}

function rulesOf({ rules }: MeshConfiguration): Rule[] {
  return rules.map(({ from_agent, to_agent, port, proto }) => ({
    from: from_agent,
    to: to_agent,
    port: port!,
    proto: proto === "udp" ? proto : undefined,
  }));
}
