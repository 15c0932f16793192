import { Buffer } from "node:buffer";
import { createHash, timingSafeEqual } from "node:crypto";

/** SHA-256 of a text in lower-case hex: what is stored in place of agent keys and grant tokens. */
export function sha256Hex(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Whether `text` is one of `secrets`. The duration reveals neither which, nor how much matches. */
export function isOneOf(text: string, secrets: readonly string[]): boolean {
  const digest = createHash("sha256").update(text).digest();
  let found = false;
  for (const secret of secrets) {
    const same = timingSafeEqual(digest, createHash("sha256").update(secret).digest());
    found = same || found;
  }
  return found;
}

/** A unique identifier: `prefix` and 128 random bits in hex. */
export function newIdentifier(prefix: "art_" | "grant_" | "standing_"): string {
  return prefix + randomBytes(16).toString("hex");
}

/** A bearer capability of 256 random bits. */
export function newGrantToken(): string {
  return "g_" + randomBytes(32).toString("base64url");
}

function randomBytes(length: number): Buffer {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(length)));
}
