import { createHash } from "node:crypto";
import type { TcpConnection } from "../../ip/tcp_connection.ts";
import { randomFrom } from "./emulated_link.ts";

/** Pseudo-random bytes for a seed. */
export function bytesOf(seed: number, length: number): Uint8Array {
  const random = randomFrom(seed);
  const words = new Uint32Array(Math.ceil(length / 4));
  for (let index = 0; index < words.length; index++) words[index] = random() * 4294967296;
  return new Uint8Array(words.buffer, 0, length);
}

export function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Reads the connection to its end. */
export async function readDigest(connection: TcpConnection): Promise<string> {
  const hash = createHash("sha256");
  for (let bytes; (bytes = await connection.read()) !== null;) hash.update(bytes);
  return hash.digest("hex");
}

export async function readText(connection: TcpConnection): Promise<string> {
  let text = "";
  for (let bytes; (bytes = await connection.read()) !== null;) {
    text += new TextDecoder().decode(bytes);
  }
  return text;
}

export async function writeText(connection: TcpConnection, text: string): Promise<void> {
  await connection.write(new TextEncoder().encode(text));
}
