import type { UdpOptions, UdpSocket } from "../../wireguard/sockets/udp_socket.ts";
import type { Endpoint } from "../../wireguard/surroundings.ts";
import type { KernelPeer } from "../kernel.ts";
import { newPort, type Port } from "./sessions.ts";
import { openStranger } from "./stranger.ts";

export const LOOPBACK = "127.0.0.1";

export interface PortsOptions {
  readonly openSocket: (options: UdpOptions) => Promise<UdpSocket>;
  /** The port of the kernel's WireGuard. Datagrams of other local programs are dropped. */
  readonly kernelPort: () => number;
  /** Takes a datagram of the kernel. */
  readonly onLeaving: (datagram: Uint8Array, port: Port) => void;
  /** Takes a datagram that the stranger of a port received. */
  readonly onStrange: (datagram: Uint8Array, from: Endpoint, port: Port) => void;
}

/** The loopback ports of the peers, by public key, with their sockets. */
export class Ports {
  readonly #options: PortsOptions;
  readonly #ports = new Map<string, Port>();
  /** For initiations from an endpoint that does not tell which peer it is. */
  readonly guests: Port = newPort();
  #strangers = 0;

  constructor(options: PortsOptions) {
    this.#options = options;
  }

  get publicKeys(): string[] {
    return [...this.#ports.keys()];
  }

  get all(): [publicKey: string, port: Port][] {
    return [...this.#ports];
  }

  get(publicKey: string): Port | undefined {
    return this.#ports.get(publicKey);
  }

  /** Opens the port of a peer if it is not open. */
  async open(publicKey: string): Promise<Port> {
    if (this.guests.socket === null) this.guests.socket = await this.#listen(this.guests);
    const known = this.#ports.get(publicKey);
    if (known !== undefined) return known;
    const port = newPort();
    port.socket = await this.#listen(port);
    port.stranger = await openStranger(this.#options.openSocket, {
      number: this.#strangers++,
      onDatagram: (datagram, from) => this.#options.onStrange(datagram, from, port),
    }).catch((error) => {
      port.socket!.close();
      throw error;
    });
    this.#ports.set(publicKey, port);
    return port;
  }

  /** Closes the guests' port with the last port of a peer. */
  close(publicKey: string): void {
    const port = this.#ports.get(publicKey);
    this.#ports.delete(publicKey);
    port?.socket?.close();
    port?.stranger?.close();
    if (this.#ports.size === 0) this.closeGuests();
  }

  /** It is open without any port of a peer if the first one could not be opened. */
  closeGuests(): void {
    this.guests.socket?.close();
    this.guests.socket = null;
  }

  /**
   * Takes the kernel's peers. Returns the peers with a port here that have vanished from the
   * kernel, each with its heir or null. An heir is a new peer that the kernel has at the vanished
   * peer's port: the same host with another key. It takes over the port, and its session continues.
   */
  handOver(
    peers: readonly Pick<KernelPeer, "publicKey" | "endpoint">[],
  ): Map<string, string | null> {
    const handed = new Map<string, string | null>();
    for (const [publicKey, port] of this.all) {
      if (peers.some((peer) => peer.publicKey === publicKey)) continue;
      const place = `${LOOPBACK}:${port.socket!.port}`;
      const heir = peers.find((peer) =>
        peer.endpoint === place && !this.#ports.has(peer.publicKey)
      );
      handed.set(publicKey, heir?.publicKey ?? null);
      if (heir === undefined) continue;
      this.#ports.delete(publicKey);
      this.#ports.set(heir.publicKey, port);
    }
    return handed;
  }

  #listen(port: Port): Promise<UdpSocket> {
    return this.#options.openSocket({
      port: 0,
      via: LOOPBACK,
      isLoopback: true,
      onDatagram: (datagram, from) => {
        if (from.port === this.#options.kernelPort() && from.address === LOOPBACK) {
          this.#options.onLeaving(datagram, port);
        }
      },
    });
  }
}
