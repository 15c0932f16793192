import type { DatagramSocket } from "../../wireguard/sockets/udp_socket.ts";
import type { Endpoint, Surroundings } from "../../wireguard/surroundings.ts";
import { type Address, readAddress, writeAddress } from "../stun/address.ts";
import {
  ATTRIBUTE,
  CLASS,
  errorCodeOf,
  hexOf,
  METHOD,
  parseStun,
  type ReceivedStun,
  writeStun,
} from "../stun/message.ts";
import { Channels, isChannelData, readChannelData, writeChannelData } from "./channels.ts";
import { CredentialedRequests, type OwnAttributes } from "./credentialed_requests.ts";
import { Permissions } from "./permissions.ts";
import type { TurnTransport } from "./transport.ts";

export interface AllocationOptions {
  readonly transport: TurnTransport;
  readonly username: string;
  readonly credential: string;
  readonly surroundings: Surroundings;
  /** The `via` of endpoints that this relay reaches. */
  readonly via: string;
  /** The family of the relayed address. Default: the server's choice, which is IPv4. */
  readonly family?: 4 | 6;
  readonly onDatagram: (datagram: Uint8Array, from: Endpoint) => void;
  /**
   * Called when the relay has dropped the allocation or does not answer, so that nothing arrives
   * any more. Not called after `close`.
   */
  readonly onEnd?: () => void;
}

const UDP = Uint8Array.of(17, 0, 0, 0);
const FAMILIES = { 4: Uint8Array.of(1, 0, 0, 0), 6: Uint8Array.of(2, 0, 0, 0) } as const;
const MISMATCH = 437;

/** Permissions last 5 minutes, channels 10. */
const RENEW_AFTER = 240_000;

/**
 * Much shorter than an allocation's lifetime, to notice a restart of the relay, and to keep the
 * connection open in routers and proxies on the path.
 */
const REFRESH_AFTER = 25_000;
const REFRESH_SENDS = 4;

/** Repeats the request for 15.5 s. */
const ALLOCATE_SENDS = 5;

/** How long the relay has to confirm that an allocation is given back. */
const FAREWELL = 1000;

/** A UDP address on a TURN server (RFC 8656): datagrams to it arrive here, and leave from it. */
export class Allocation implements DatagramSocket {
  readonly via: string;
  readonly #options: AllocationOptions;
  readonly #requests: CredentialedRequests;
  readonly #permissions: Permissions;
  readonly #channels: Channels;
  readonly #timers = new Set<() => void>();
  #relayed: Address | null = null;
  #isClosed = false;

  constructor(options: AllocationOptions) {
    this.#options = options;
    this.via = options.via;
    this.#requests = new CredentialedRequests(options);
    this.#permissions = new Permissions({
      ask: (address) => this.#createPermission(address),
      onGranted: (datagram, to) => this.#sendByIndication(datagram, to),
      now: () => options.surroundings.now(),
    });
    this.#channels = new Channels({
      bind: (number, peer) => this.#bind(number, peer),
      now: () => options.surroundings.now(),
    });
  }

  /** The address that others send to; null before `open`. */
  get relayed(): Address | null {
    return this.#relayed;
  }

  /**
   * Opens the allocation. If the server refuses, rejects with its error code, without credentials.
   */
  async open(): Promise<Address> {
    const { family } = this.#options;
    const attributes: (readonly [number, Uint8Array])[] = [[ATTRIBUTE.requestedTransport, UDP]];
    if (family !== undefined) {
      attributes.push([ATTRIBUTE.requestedAddressFamily, FAMILIES[family]]);
    }
    const answer = await this.#requests.request(METHOD.allocate, () => attributes, {
      sends: ALLOCATE_SENDS,
    });
    const allocated = succeeded(answer, "an allocation");
    const value = allocated.attributes.get(ATTRIBUTE.xorRelayedAddress);
    this.#relayed = readAddress(value, allocated.transaction);
    if (this.#relayed === null) {
      throw new Error("The TURN server names no relayed address.");
    }
    const lifetime = lifetimeOf(allocated);
    this.#every(Math.min(REFRESH_AFTER, lifetime * 500), () => void this.#refresh(lifetime));
    this.#every(RENEW_AFTER, () => this.#renew());
    return this.#relayed;
  }

  /**
   * Lets datagrams from an IP address in, from any port. Resolves to whether the relay permits it.
   */
  permit(address: string): Promise<boolean> {
    return this.#permissions.add(address);
  }

  /** Permits these addresses, and renews no others. */
  permitOnly(addresses: Iterable<string>): Promise<void> {
    return this.#permissions.set(addresses);
  }

  send(datagram: Uint8Array, to: Address): void {
    if (this.#isClosed || !this.#isOfRelayedFamily(to)) return;
    if (!this.#permissions.includes(to.address)) {
      void this.#permissions.add(to.address);
      this.#permissions.hold(datagram, to);
      return;
    }
    const number = this.#channels.numberOf(to);
    if (number === null) this.#sendByIndication(datagram, to);
    else this.#options.transport.sendData(writeChannelData(datagram, number));
  }

  /** Takes a message from the server. */
  receive(message: Uint8Array): void {
    if (isChannelData(message)) return this.#receiveChannelData(message);
    const stun = parseStun(message);
    if (stun === null || this.#requests.take(stun)) return;
    if (stun.method === METHOD.data && stun.kind === CLASS.indication) this.#receiveData(stun);
  }

  close(): void {
    if (this.#isClosed) return;
    void this.#giveBack();
    this.#stop();
  }

  #isOfRelayedFamily({ address }: Address): boolean {
    return this.#relayed?.address.includes(":") === address.includes(":");
  }

  async #createPermission(address: string): Promise<boolean> {
    const answer = await this.#request(METHOD.createPermission, (transaction) => [
      [ATTRIBUTE.xorPeerAddress, writeAddress({ address, port: 0 }, transaction)],
    ]);
    return answer?.kind === CLASS.success;
  }

  #sendByIndication(datagram: Uint8Array, to: Address): void {
    const { surroundings, transport } = this.#options;
    const transaction = hexOf(surroundings.randomBytes(12));
    const attributes = new Map([
      [ATTRIBUTE.xorPeerAddress, writeAddress(to, transaction)],
      [ATTRIBUTE.data, datagram],
    ]);
    const { send: method } = METHOD;
    transport.sendData(writeStun({ method, kind: CLASS.indication, transaction, attributes }));
    this.#channels.count(to);
  }

  async #bind(number: number, peer: Address): Promise<boolean | null> {
    const answer = await this.#request(METHOD.channelBind, (transaction) => [
      [ATTRIBUTE.channelNumber, Uint8Array.of(number >> 8, number & 0xff, 0, 0)],
      [ATTRIBUTE.xorPeerAddress, writeAddress(peer, transaction)],
    ]);
    return answer && answer.kind === CLASS.success;
  }

  #receiveChannelData(message: Uint8Array): void {
    const data = readChannelData(message);
    const peer = data && this.#channels.peerOf(data.number);
    if (data && peer) this.#deliver(data.datagram, peer);
  }

  #receiveData({ attributes, transaction }: ReceivedStun): void {
    const from = readAddress(attributes.get(ATTRIBUTE.xorPeerAddress), transaction);
    const datagram = attributes.get(ATTRIBUTE.data);
    // Indications are unsigned. At least drop those from addresses that the relay does not permit.
    if (from !== null && datagram !== undefined && this.#permissions.includes(from.address)) {
      this.#deliver(datagram, from);
    }
  }

  #deliver(datagram: Uint8Array, { address, port }: Address): void {
    if (this.#isClosed) return;
    this.#options.onDatagram(datagram, { address, port, via: this.via });
  }

  #renew(): void {
    this.#permissions.renew();
    // A channel also permits its address, so renew only those of permitted addresses.
    this.#channels.renew((address) => this.#permissions.includes(address));
  }

  async #refresh(seconds: number): Promise<void> {
    const answer = await this.#request(
      METHOD.refresh,
      () => [[ATTRIBUTE.lifetime, secondsValue(seconds)]],
      { sends: REFRESH_SENDS },
    );
    if (answer?.kind !== CLASS.success) this.end();
  }

  async #request(
    method: number,
    own: OwnAttributes,
    options: { readonly sends?: number } = {},
  ): Promise<ReceivedStun | null> {
    const answer = await this.#requests.request(method, own, options);
    // The relay has restarted, and does not know this allocation.
    if (answer?.kind === CLASS.error && errorCodeOf(answer) === MISMATCH) this.end();
    return answer;
  }

  /** Call it when the relay, or the connection to it, is lost. */
  end(): void {
    if (this.#isClosed) return;
    this.#stop();
    this.#requests.close();
    this.#options.transport.close();
    this.#options.onEnd?.();
  }

  #stop(): void {
    this.#isClosed = true;
    for (const stop of this.#timers) stop();
    this.#timers.clear();
  }

  /** A lifetime of 0 gives the relayed address back. */
  async #giveBack(): Promise<void> {
    const { surroundings, transport } = this.#options;
    if (this.#relayed !== null) {
      const stop = surroundings.after(FAREWELL, () => this.#requests.close());
      const lifetime = [[ATTRIBUTE.lifetime, secondsValue(0)]] as const;
      await this.#requests.request(METHOD.refresh, () => lifetime);
      stop();
    }
    this.#requests.close();
    transport.close();
  }

  #every(milliseconds: number, action: () => void): void {
    if (this.#isClosed) return;
    const stop = this.#options.surroundings.after(milliseconds, () => {
      this.#timers.delete(stop);
      action();
      this.#every(milliseconds, action);
    });
    this.#timers.add(stop);
  }
}

function succeeded(answer: ReceivedStun | null, what: string): ReceivedStun {
  if (answer?.kind === CLASS.success) return answer;
  const why = answer === null ? "does not answer" : `answers ${errorCodeOf(answer)}`;
  throw new Error(`The TURN server ${why} to a request for ${what}.`);
}

/** The lifetime of the allocation, in seconds. */
function lifetimeOf({ attributes }: ReceivedStun): number {
  const value = attributes.get(ATTRIBUTE.lifetime);
  if (value === undefined || value.length !== 4) return 600;
  return new DataView(value.buffer, value.byteOffset, 4).getUint32(0);
}

function secondsValue(seconds: number): Uint8Array {
  const value = new Uint8Array(4);
  new DataView(value.buffer).setUint32(0, seconds);
  return value;
}
