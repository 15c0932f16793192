/** The layout of the four messages in a datagram (section 5.4 of the WireGuard paper). */

export const TYPE = { initiation: 1, response: 2, cookie: 3, data: 4 } as const;

export const INITIATION_BYTES = 148;
export const RESPONSE_BYTES = 92;
export const COOKIE_BYTES = 64;
export const DATA_HEADER_BYTES = 16;
const MAC_BYTES = 16;

export interface Initiation {
  readonly type: typeof TYPE.initiation;
  readonly sender: number;
  readonly ephemeral: Uint8Array;
  readonly encryptedStatic: Uint8Array;
  readonly encryptedTimestamp: Uint8Array;
}

export interface Response {
  readonly type: typeof TYPE.response;
  readonly sender: number;
  readonly receiver: number;
  readonly ephemeral: Uint8Array;
  readonly encryptedNothing: Uint8Array;
}

export interface CookieReply {
  readonly type: typeof TYPE.cookie;
  readonly receiver: number;
  readonly nonce: Uint8Array;
  readonly encryptedCookie: Uint8Array;
}

export interface Data {
  readonly type: typeof TYPE.data;
  readonly receiver: number;
  readonly counter: number;
  readonly ciphertext: Uint8Array;
}

export type Message = Initiation | Response | CookieReply | Data;

/**
 * Parses the message in a datagram. Its fields are views of the datagram. Null for anything else.
 */
export function parseMessage(datagram: Uint8Array): Message | null {
  // A message begins with its type and three zero bytes.
  if (datagram.length < 4 || datagram[1] || datagram[2] || datagram[3]) {
    return null;
  }
  const part = (from: number, length: number) => datagram.subarray(from, from + length);
  switch (datagram[0]) {
    case TYPE.data:
      return parseData(datagram);
    case TYPE.initiation:
      return datagram.length !== INITIATION_BYTES ? null : {
        type: TYPE.initiation,
        sender: readUint32(datagram, 4),
        ephemeral: part(8, 32),
        encryptedStatic: part(40, 48),
        encryptedTimestamp: part(88, 28),
      };
    case TYPE.response:
      return datagram.length !== RESPONSE_BYTES ? null : {
        type: TYPE.response,
        sender: readUint32(datagram, 4),
        receiver: readUint32(datagram, 8),
        ephemeral: part(12, 32),
        encryptedNothing: part(44, 16),
      };
    case TYPE.cookie:
      return datagram.length !== COOKIE_BYTES ? null : {
        type: TYPE.cookie,
        receiver: readUint32(datagram, 4),
        nonce: part(8, 24),
        encryptedCookie: part(32, 32),
      };
    default:
      return null;
  }
}

function parseData(datagram: Uint8Array): Data | null {
  if (datagram.length < DATA_HEADER_BYTES + MAC_BYTES) return null;
  const high = readUint32(datagram, 12);
  // A number cannot hold more exactly. No session lives long enough to count that far.
  if (high >= 2 ** 21) return null;
  return {
    type: TYPE.data,
    receiver: readUint32(datagram, 4),
    counter: high * 2 ** 32 + readUint32(datagram, 8),
    ciphertext: datagram.subarray(DATA_HEADER_BYTES),
  };
}

/** A message with room for its MACs at the end. */
export function writeInitiation(message: Omit<Initiation, "type">): Uint8Array {
  const datagram = new Uint8Array(INITIATION_BYTES);
  datagram[0] = TYPE.initiation;
  writeUint32(datagram, { at: 4, value: message.sender });
  datagram.set(message.ephemeral, 8);
  datagram.set(message.encryptedStatic, 40);
  datagram.set(message.encryptedTimestamp, 88);
  return datagram;
}

/** A message with room for its MACs at the end. */
export function writeResponse(message: Omit<Response, "type">): Uint8Array {
  const datagram = new Uint8Array(RESPONSE_BYTES);
  datagram[0] = TYPE.response;
  writeUint32(datagram, { at: 4, value: message.sender });
  writeUint32(datagram, { at: 8, value: message.receiver });
  datagram.set(message.ephemeral, 12);
  datagram.set(message.encryptedNothing, 44);
  return datagram;
}

export function writeCookieReply(
  message: Omit<CookieReply, "type">,
): Uint8Array {
  const datagram = new Uint8Array(COOKIE_BYTES);
  datagram[0] = TYPE.cookie;
  writeUint32(datagram, { at: 4, value: message.receiver });
  datagram.set(message.nonce, 8);
  datagram.set(message.encryptedCookie, 32);
  return datagram;
}

/** The two MACs that end an initiation or a response, and what each of them covers. */
export interface Macs {
  readonly mac1: Uint8Array;
  readonly mac2: Uint8Array;
  readonly beforeMac1: Uint8Array;
  readonly beforeMac2: Uint8Array;
}

export function macsOf(datagram: Uint8Array): Macs {
  const [second, first] = [
    datagram.length - MAC_BYTES,
    datagram.length - 2 * MAC_BYTES,
  ];
  return {
    mac1: datagram.subarray(first, second),
    mac2: datagram.subarray(second),
    beforeMac1: datagram.subarray(0, first),
    beforeMac2: datagram.subarray(0, second),
  };
}

export function readUint32(bytes: Uint8Array, at: number): number {
  return (bytes[at]! | bytes[at + 1]! << 8 | bytes[at + 2]! << 16 |
    bytes[at + 3]! << 24) >>> 0;
}

export function writeUint32(
  bytes: Uint8Array,
  { at, value }: { readonly at: number; readonly value: number },
): void {
  for (let index = 0; index < 4; index++) {
    bytes[at + index] = value >>> (8 * index);
  }
}
