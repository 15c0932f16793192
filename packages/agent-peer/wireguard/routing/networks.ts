import { isIPv4, isIPv6 } from "node:net";

export interface Network {
  /** 4 bytes, or 16. Bits after the prefix are zero. */
  readonly bytes: Uint8Array;
  readonly prefixLength: number;
}

/** `<address>/<prefix length>`, or only an address. Throws RangeError. */
export function parseNetwork(text: string): Network {
  const [address = "", length, ...rest] = text.split("/");
  const bytes = addressBytes(address);
  const most = bytes === null ? 0 : bytes.length * 8;
  const prefixLength = length === undefined ? most : Number(length);
  const isLength = length === undefined ||
    /^(?:0|[1-9][0-9]{0,2})$/.test(length);
  if (bytes === null || rest.length > 0 || !isLength || prefixLength > most) {
    throw new RangeError(`${JSON.stringify(text)} is not an IP network.`);
  }
  return { bytes: masked(bytes, prefixLength), prefixLength };
}

export function masked(bytes: Uint8Array, prefixLength: number): Uint8Array {
  return bytes.map((byte, index) => {
    const bits = Math.min(Math.max(prefixLength - index * 8, 0), 8);
    return byte & (0xff << (8 - bits));
  });
}

/** The bytes in network byte order; null if the text is not an address, or has a zone. */
export function addressBytes(text: string): Uint8Array | null {
  if (isIPv4(text)) return Uint8Array.from(text.split("."), Number);
  if (!isIPv6(text) || text.includes("%")) return null;
  const canonical = new URL(`http://[${text}]/`).hostname.slice(1, -1);
  const [head = [], tail = []] = canonical.split("::").map((half) =>
    half.split(":").filter((group) => group !== "")
  );
  const zeros = Array<string>(8 - head.length - tail.length).fill("0");
  return Uint8Array.from(
    [...head, ...zeros, ...tail].flatMap((group) => {
      const value = parseInt(group, 16);
      return [value >> 8, value & 0xff];
    }),
  );
}
