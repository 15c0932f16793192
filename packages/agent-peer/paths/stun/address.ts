import { addressBytes } from "../../wireguard/routing/networks.ts";
import { bytesOfHex } from "./message.ts";

/** An IP address and a UDP port. */
export interface Address {
  readonly address: string;
  readonly port: number;
}

const COOKIE = "2112a442";

/** The value of an XOR-…-ADDRESS attribute (RFC 8489, 14.2). Throws RangeError. */
export function writeAddress(
  { address, port }: Address,
  transaction: string,
): Uint8Array {
  const bytes = addressBytes(address);
  if (bytes === null) {
    throw new RangeError(`${JSON.stringify(address)} is not an IP address.`);
  }
  const mask = bytesOfHex(COOKIE + transaction);
  const masked = bytes.map((byte, index) => byte ^ mask[index]!);
  const xPort = port ^ 0x2112;
  return Uint8Array.from([
    0,
    bytes.length === 4 ? 1 : 2,
    xPort >> 8,
    xPort & 0xff,
    ...masked,
  ]);
}

/** Null if the attribute is malformed or missing. */
export function readAddress(
  value: Uint8Array | undefined,
  transaction: string,
): Address | null {
  const length = value?.[1] === 1 ? 4 : 16;
  if (value === undefined || value.length !== 4 + length) return null;
  const mask = bytesOfHex(COOKIE + transaction);
  const bytes = value.subarray(4).map((byte, index) => byte ^ mask[index]!);
  const port = (value[2]! << 8 | value[3]!) ^ 0x2112;
  if (length === 4) return { address: bytes.join("."), port };
  const groups = Array.from(
    { length: 8 },
    (_, index) => (bytes[2 * index]! << 8 | bytes[2 * index + 1]!).toString(16),
  );
  return {
    address: new URL(`http://[${groups.join(":")}]/`).hostname.slice(1, -1),
    port,
  };
}
