/** Tunnels in one process, on a simulated network and with a clock that only the test moves. */
import { randomBytes } from "node:crypto";
import { formatKey } from "../../wireguard/key.ts";
import {
  type Endpoint,
  type PeerConfiguration,
  type Surroundings,
  Tunnel,
  type TunnelOptions,
} from "../../wireguard/tunnel.ts";
import { ipv4Packet } from "./packets.ts";

export interface Datagram {
  readonly bytes: Uint8Array;
  readonly from: Endpoint;
  readonly to: Endpoint;
}

interface Timer {
  readonly at: number;
  readonly action: () => void;
}

/** Long after the epoch, so that a clock that is set back stays positive. */
const START = Date.UTC(2030, 0, 1);

export class World {
  now = 0;
  /** All datagrams that were sent, including the lost ones. */
  readonly sent: Datagram[] = [];
  /** Whether a datagram arrives. */
  passes: (datagram: Datagram) => boolean = () => true;
  readonly #hosts = new Map<string, SimulatedHost>();
  readonly #timers = new Set<Timer>();
  readonly #underWay: Datagram[] = [];
  #clockOffset = 0;

  readonly surroundings: Surroundings = {
    now: () => this.now,
    unixTime: () => START + this.now + this.#clockOffset,
    randomBytes: (length) => randomBytes(length),
    after: (milliseconds, action) => {
      const timer = { at: this.now + milliseconds, action };
      this.#timers.add(timer);
      return () => this.#timers.delete(timer);
    },
  };

  /** Host `n` has the endpoint 192.0.2.n and the tunnel address 10.0.0.n. */
  addHost(
    number: number,
    options: Partial<TunnelOptions> = {},
  ): SimulatedHost {
    const host = new SimulatedHost(this, number, options);
    this.#hosts.set(host.endpoint.address, host);
    return host;
  }

  send(datagram: Datagram): void {
    this.sent.push(datagram);
    if (this.passes(datagram)) this.#underWay.push(datagram);
  }

  /** Delivers all datagrams under way, and those that are sent in response. */
  settle(): void {
    for (let datagram; (datagram = this.#underWay.shift()) !== undefined;) {
      this.#hosts.get(datagram.to.address)?.tunnel.receiveDatagram(datagram.bytes, datagram.from);
    }
  }

  /** Lets time pass, and runs the timers that become due. */
  advance(milliseconds: number): void {
    const end = this.now + milliseconds;
    this.settle();
    for (let timer; (timer = this.#nextTimer(end)) !== undefined;) {
      this.#timers.delete(timer);
      this.now = Math.max(this.now, timer.at);
      timer.action();
      this.settle();
    }
    this.now = end;
  }

  /** Lets time pass without running timers, as when a host sleeps: all of them are late. */
  sleep(milliseconds: number): void {
    this.now += milliseconds;
  }

  /** Sets the wall clock. `sleepProofClock` takes a step forward for a sleep. */
  setClock(by: number): void {
    if (by > 0) this.sleep(by);
    else this.#clockOffset += by;
  }

  #nextTimer(end: number): Timer | undefined {
    const due = [...this.#timers].filter(({ at }) => at <= end);
    return due.sort((left, right) => left.at - right.at)[0];
  }
}

export class SimulatedHost {
  readonly privateKey: Uint8Array;
  endpoint: Endpoint;
  readonly inner: string;
  tunnel: Tunnel;
  readonly received: { readonly packet: Uint8Array; readonly peer: string }[] = [];
  readonly #world: World;
  readonly #options: Partial<TunnelOptions>;

  constructor(world: World, number: number, options: Partial<TunnelOptions>) {
    this.#world = world;
    this.#options = options;
    this.privateKey = options.privateKey ?? randomBytes(32);
    this.endpoint = { address: `192.0.2.${number}`, port: 51820, via: "udp" };
    this.inner = `10.0.0.${number}`;
    this.tunnel = this.#newTunnel();
  }

  get publicKey(): string {
    return this.tunnel.publicKey;
  }

  /** The configuration of this host as another host's peer. */
  asPeer(changes: Partial<PeerConfiguration> = {}): PeerConfiguration {
    return {
      publicKey: this.publicKey,
      presharedKey: null,
      allowedIps: [`${this.inner}/32`],
      endpoints: [this.endpoint],
      ...changes,
    };
  }

  /** Loses all state except the private key. */
  restart(): void {
    this.tunnel.close();
    this.tunnel = this.#newTunnel();
  }

  sendTo(other: SimulatedHost, text = "hello"): boolean {
    const options = { source: this.inner, destination: other.inner };
    return this.tunnel.sendPacket(ipv4Packet(new TextEncoder().encode(text), options));
  }

  /** The texts that arrived since the last call. */
  takeTexts(): string[] {
    const texts = this.received.map(({ packet }) => new TextDecoder().decode(packet.subarray(20)));
    this.received.length = 0;
    return texts;
  }

  handshakeAt(): number | null {
    return this.tunnel.stats()[0]?.handshakeAt ?? null;
  }

  #newTunnel(): Tunnel {
    return new Tunnel({
      surroundings: this.#world.surroundings,
      send: (bytes, to) => this.#world.send({ bytes, to, from: this.endpoint }),
      onPacket: (packet, peer) => this.received.push({ packet, peer }),
      ...this.#options,
      privateKey: this.privateKey,
    });
  }
}

/** Two hosts that are configured as each other's peers, by default with a PSK. */
export function pairOf(world: World, presharedKey: string | null = newKey()) {
  const [left, right] = [world.addHost(1), world.addHost(2)];
  left.tunnel.setPeers([right.asPeer({ presharedKey })]);
  right.tunnel.setPeers([left.asPeer({ presharedKey })]);
  return { left, right };
}

export function newKey(): string {
  return formatKey(randomBytes(32));
}
