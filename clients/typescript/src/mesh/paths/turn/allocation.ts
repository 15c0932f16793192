import type { DatagramSocket } from "../../wireguard/sockets/udp_socket.ts";
import type { Endpoint, Surroundings } from "../../wireguard/surroundings.ts";
import { type Address, readAddress, writeAddress } from "../stun/address.ts";
import {
  ATTRIBUTE,
  CLASS,
  errorCodeOf,
  METHOD,
  parseStun,
  type StunMessage,
} from "../stun/message.ts";
import { CredentialedRequests } from "./credentialed_requests.ts";
import type { TurnTransport } from "./transport.ts";

export interface AllocationOptions {
  readonly transport: TurnTransport;
  readonly username: string;
  readonly credential: string;
  readonly surroundings: Surroundings;
  /** What endpoints behind this relay are called. */
  readonly via: string;
  readonly onDatagram: (datagram: Uint8Array, from: Endpoint) => void;
  /** The relay gave it up, and nothing arrives any more. */
  readonly onEnd?: () => void;
}

const UDP = Uint8Array.of(17, 0, 0, 0);
const FIRST_CHANNEL = 0x4000;
const LAST_CHANNEL = 0x4fff;

/** Permissions last 5 minutes, channels 10. */
const RENEW_AFTER = 240_000;
const MOST_HELD = 16;

interface Channel {
  readonly number: number;
  isBound: boolean;
  /** What waits for the channel. */
  readonly held: Uint8Array[];
}

/** A UDP address on a TURN server (RFC 8656): datagrams to it arrive here, and leave from it. */
export class Allocation implements DatagramSocket {
  readonly via: string;
  readonly #options: AllocationOptions;
  readonly #requests: CredentialedRequests;
  readonly #channels = new Map<string, Channel>();
  readonly #byNumber = new Map<number, Address>();
  readonly #permitted = new Set<string>();
  readonly #timers = new Set<() => void>();
  #relayed: Address | null = null;
  #mapped: Address | null = null;
  #isClosed = false;

  constructor(options: AllocationOptions) {
    this.#options = options;
    this.via = options.via;
    this.#requests = new CredentialedRequests(options);
  }

  /** Where others send to; null before `open`. */
  get relayed(): Address | null {
    return this.#relayed;
  }

  /** Where the server sees this side. */
  get mapped(): Address | null {
    return this.#mapped;
  }

  /** Makes the allocation. Rejects, with the server's code and no credential, if it refuses. */
  async open(): Promise<Address> {
    const transport = [[ATTRIBUTE.requestedTransport, UDP]] as const;
    const answer = await this.#requests.request(
      METHOD.allocate,
      () => transport,
    );
    const { attributes, transaction } = succeeded(answer, "an allocation");
    this.#relayed = readAddress(
      attributes.get(ATTRIBUTE.xorRelayedAddress),
      transaction,
    );
    this.#mapped = readAddress(
      attributes.get(ATTRIBUTE.xorMappedAddress),
      transaction,
    );
    if (this.#relayed === null) {
      throw new Error("The TURN server names no relayed address.");
    }
    this.#refreshAfter(lifetimeOf(attributes));
    return this.#relayed;
  }

  /** Lets datagrams from an IP address in, whatever its port. */
  async permit(address: string): Promise<boolean> {
    const answer = await this.#requests.request(
      METHOD.createPermission,
      (transaction) => [
        [
          ATTRIBUTE.xorPeerAddress,
          writeAddress({ address, port: 0 }, transaction),
        ],
      ],
    );
    if (answer?.kind !== CLASS.success) return false;
    if (!this.#permitted.has(address)) {
      this.#permitted.add(address);
      this.#every(RENEW_AFTER, () => void this.permit(address));
    }
    return true;
  }

  send(datagram: Uint8Array, to: Address): void {
    const channel = this.#channels.get(keyOf(to)) ?? this.#addChannel(to);
    if (channel === null || this.#isClosed) return;
    if (channel.isBound) this.#sendByChannel(datagram, channel.number);
    else if (channel.held.length < MOST_HELD) {
      channel.held.push(new Uint8Array(datagram));
    }
  }

  /** What came from the server. */
  receive(message: Uint8Array): void {
    if (this.#isClosed) return;
    if ((message[0]! & 0xc0) === 0x40) return this.#receiveChannelData(message);
    const stun = parseStun(message);
    if (stun === null || this.#requests.take(stun)) return;
    if (stun.method !== METHOD.data || stun.kind !== CLASS.indication) return;
    const { attributes, transaction } = stun;
    const from = readAddress(
      attributes.get(ATTRIBUTE.xorPeerAddress),
      transaction,
    );
    const datagram = attributes.get(ATTRIBUTE.data);
    if (from !== null && datagram !== undefined) this.#deliver(datagram, from);
  }

  close(): void {
    if (this.#isClosed) return;
    // A lifetime of 0 gives the relayed address back. Nobody waits for the answer.
    if (this.#relayed !== null) void this.#refresh(0);
    this.#isClosed = true;
    for (const stop of this.#timers) stop();
    this.#requests.close();
    this.#options.transport.close();
  }

  #addChannel(to: Address): Channel | null {
    const number = FIRST_CHANNEL + this.#channels.size;
    if (number > LAST_CHANNEL) return null;
    const channel: Channel = { number, isBound: false, held: [] };
    this.#channels.set(keyOf(to), channel);
    this.#byNumber.set(number, to);
    void this.#bind(to, channel);
    this.#every(RENEW_AFTER, () => void this.#bind(to, channel));
    return channel;
  }

  /** Makes a channel, or renews it. It is a permission, too. */
  async #bind(to: Address, channel: Channel): Promise<void> {
    const { number } = channel;
    const answer = await this.#requests.request(
      METHOD.channelBind,
      (transaction) => [
        [
          ATTRIBUTE.channelNumber,
          Uint8Array.of(number >> 8, number & 0xff, 0, 0),
        ],
        [ATTRIBUTE.xorPeerAddress, writeAddress(to, transaction)],
      ],
    );
    channel.isBound ||= answer?.kind === CLASS.success;
    const held = channel.held.splice(0);
    if (channel.isBound) {
      for (const datagram of held) this.#sendByChannel(datagram, number);
    }
  }

  #sendByChannel(datagram: Uint8Array, number: number): void {
    const message = new Uint8Array(4 + datagram.length);
    message.set([
      number >> 8,
      number & 0xff,
      datagram.length >> 8,
      datagram.length & 0xff,
    ]);
    message.set(datagram, 4);
    this.#options.transport.send(message);
  }

  #receiveChannelData(message: Uint8Array): void {
    if (message.length < 4) return;
    const from = this.#byNumber.get(message[0]! << 8 | message[1]!);
    const end = 4 + (message[2]! << 8 | message[3]!);
    if (from !== undefined && end <= message.length) {
      this.#deliver(message.subarray(4, end), from);
    }
  }

  #deliver(datagram: Uint8Array, { address, port }: Address): void {
    this.#options.onDatagram(datagram, { address, port, via: this.via });
  }

  #refreshAfter(seconds: number): void {
    const wait = Math.max(seconds - 60, seconds / 2) * 1000;
    this.#after(wait, async () => {
      const answer = await this.#refresh(seconds);
      if (this.#isClosed) return;
      if (answer?.kind === CLASS.success) {
        return this.#refreshAfter(lifetimeOf(answer.attributes));
      }
      this.close();
      this.#options.onEnd?.();
    });
  }

  #refresh(seconds: number): Promise<StunMessage | null> {
    const value = new Uint8Array(4);
    new DataView(value.buffer).setUint32(0, seconds);
    return this.#requests.request(
      METHOD.refresh,
      () => [[ATTRIBUTE.lifetime, value]],
    );
  }

  #every(milliseconds: number, action: () => void): void {
    this.#after(milliseconds, () => {
      action();
      this.#every(milliseconds, action);
    });
  }

  #after(milliseconds: number, action: () => void): void {
    if (this.#isClosed) return;
    const stop = this.#options.surroundings.after(milliseconds, () => {
      this.#timers.delete(stop);
      action();
    });
    this.#timers.add(stop);
  }
}

function succeeded(answer: StunMessage | null, what: string): StunMessage {
  if (answer?.kind === CLASS.success) return answer;
  const why = answer === null ? "does not answer" : `answers ${errorCodeOf(answer)}`;
  throw new Error(`The TURN server ${why} to a request for ${what}.`);
}

/** In seconds. */
function lifetimeOf(attributes: ReadonlyMap<number, Uint8Array>): number {
  const value = attributes.get(ATTRIBUTE.lifetime);
  if (value === undefined || value.length !== 4) return 600;
  return new DataView(value.buffer, value.byteOffset, 4).getUint32(0);
}

function keyOf({ address, port }: Address): string {
  return `${address} ${port}`;
}
