import { Clock } from "../clock/clock.ts";
import type { Envelope } from "../network/router.ts";
import type { Timeline } from "../clock/timeline.ts";
import type { Random } from "../../../../../tests/seeds/random.ts";
import { systemSurroundings } from "../../../wireguard/system_surroundings.ts";
import { Tunnel } from "../../../wireguard/tunnel.ts";
import { parseEndpoint } from "../../../paths/places/address_kinds.ts";
import { udpPacket } from "../../../ip/udp/udp_packet.ts";
import { ACK, icmpPacket, RST, SYN, tcpPacket } from "../../packet_filter/packets.ts";
import type { Service } from "./service.ts";

/** What a hostile neighbour sends, and how much of it in a second. */
export const FLOODS = {
  "SYNs that it never completes": 60,
  "connections that it leaves idle": 250,
  "packets to ports without a rule": 40,
  "echo requests": 600,
} as const;
export type Flood = keyof typeof FLOODS;

/** The port that a rule lets it reach. */
export const OPEN_PORT = 80;
const OWN_PORT = 51_820;
/** How often it sends, in milliseconds. */
const EVERY = 50;

/** A neighbour with a tunnel, which makes its packets itself. */
export class Hostile {
  readonly name = "mallory";
  readonly #clock: Clock;
  readonly #timeline: Timeline;
  readonly #service: Service;
  readonly #address: string;
  readonly #leave: (envelope: Envelope) => void;
  readonly #complain: (text: string) => void;
  readonly #random: Random;
  #tunnel: Tunnel | null = null;
  #sequence = 0;
  #completes = false;

  constructor({ timeline, service, address, random, leave, complain }: {
    readonly timeline: Timeline;
    readonly service: Service;
    readonly address: string;
    readonly random: Random;
    readonly leave: (envelope: Envelope) => void;
    readonly complain: (text: string) => void;
  }) {
    this.#timeline = timeline;
    this.#service = service;
    this.#address = address;
    this.#random = random;
    this.#leave = leave;
    this.#complain = complain;
    this.#clock = new Clock(timeline, random);
    service.add(this.name, () => this.#do(() => this.#configure()));
  }

  get publicKey(): string | null {
    return this.#tunnel?.publicKey ?? null;
  }

  start(): void {
    this.#do(() => {
      this.#tunnel = new Tunnel({
        privateKey: crypto.getRandomValues(new Uint8Array(32)),
        surroundings: systemSurroundings(),
        send: (datagram, to) =>
          this.#leave({
            from: { address: this.#address, port: OWN_PORT },
            to,
            datagram,
            length: datagram.length,
          }),
        onPacket: (packet) => this.#receive(packet),
      });
      const endpoint = `${this.#address}:${OWN_PORT}`;
      this.#service.register(this.name, this.#tunnel.publicKey, [endpoint]);
    });
  }

  receive({ datagram, from }: Envelope): void {
    this.#do(() => this.#tunnel?.receiveDatagram(datagram, { ...from, via: "udp" }));
  }

  flood(victim: string, flood: Flood, milliseconds: number): void {
    this.#do(() => {
      this.#completes = flood === "connections that it leaves idle";
      const ends = {
        from: this.#service.addressOf(this.name),
        to: this.#service.addressOf(victim),
      };
      const timer = setInterval(() => {
        for (let count = FLOODS[flood] * EVERY / 1000; count > 0; count--) {
          this.#tunnel?.sendPacket(this.#packet(flood, ends));
        }
      }, EVERY);
      setTimeout(() => clearInterval(timer), milliseconds);
    });
  }

  /**
   * Sends datagrams that no rule allows: to the ports that rules of TCP open, and as if it were
   * asked by who waits for the answers of others.
   */
  stray(victim: string, waiting: () => readonly number[], milliseconds: number): void {
    this.#do(() => {
      const ends = {
        from: this.#service.addressOf(this.name),
        to: this.#service.addressOf(victim),
      };
      const data = new Uint8Array(100);
      const timer = setInterval(() => {
        for (const fromPort of [OPEN_PORT, 443]) {
          for (const toPort of [OPEN_PORT, 443, ...waiting()]) {
            this.#tunnel?.sendPacket(udpPacket(ends, { fromPort, toPort, data }));
          }
        }
      }, 5 * EVERY);
      setTimeout(() => clearInterval(timer), milliseconds);
    });
  }

  #do(run: () => void): void {
    this.#timeline.at(this.#timeline.now, run, this.#clock);
  }

  #configure(): void {
    this.#tunnel?.setPeers(
      this.#service.configurationOf(this.name).peers.map((peer) => ({
        publicKey: peer.public_key,
        presharedKey: peer.preshared_key,
        allowedIps: peer.allowed_ips,
        endpoints: peer.endpoints.map((text) => {
          const { host, port } = parseEndpoint(text)!;
          return { address: host, port, via: "udp" };
        }),
        persistentKeepaliveSeconds: 25,
      })),
    );
  }

  #packet(flood: Flood, ends: { readonly from: string; readonly to: string }): Uint8Array {
    const fromPort = 1024 + this.#sequence++ % 60_000;
    if (flood === "echo requests") return icmpPacket(ends, 8);
    if (flood !== "packets to ports without a rule") {
      return tcpPacket(ends, { fromPort, toPort: OPEN_PORT, flags: SYN, sequence: 1000 });
    }
    const toPort = this.#random.pick([1, 22, 443, 8080]);
    return tcpPacket(ends, { fromPort, toPort, flags: this.#random.pick([SYN, ACK, SYN | ACK]) });
  }

  /** Completes a connection, and notices answers that tell what no rule lets it know. */
  #receive(packet: Uint8Array): void {
    const [TCP] = [6];
    if (packet[9] !== TCP) return;
    const view = new DataView(packet.buffer, packet.byteOffset);
    const [port, ownPort, flags] = [view.getUint16(20), view.getUint16(22), packet[33]!];
    if (port !== OPEN_PORT) {
      this.#complain(`${this.name} gets an answer from port ${port}, which no rule opens`);
    }
    if (!this.#completes || (flags & SYN) === 0 || (flags & RST) !== 0) return;
    const [from, to] = [packet.subarray(16, 20).join("."), packet.subarray(12, 16).join(".")];
    this.#tunnel?.sendPacket(tcpPacket({ from, to }, {
      fromPort: ownPort,
      toPort: OPEN_PORT,
      flags: ACK,
      sequence: 1001,
      acknowledged: (view.getUint32(24) + 1) >>> 0,
    }));
  }
}
