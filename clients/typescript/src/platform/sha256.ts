import { nodeModule } from "./node_module.ts";

/** A SHA-256 of bytes that come one after another, which WebCrypto cannot do. */
export interface Sha256 {
  update(bytes: Uint8Array): void;
  /** Hex digits, once. */
  digest(): string;
}

/** By `node:crypto` where there is one, else by a package that is loaded then. */
export async function createSha256(): Promise<Sha256> {
  const crypto = await nodeModule<typeof import("node:crypto")>("node:crypto");
  return crypto === null ? await portableSha256() : nodeSha256(crypto);
}

function nodeSha256(crypto: typeof import("node:crypto")): Sha256 {
  const hash = crypto.createHash("sha256");
  return {
    update: (bytes) => void hash.update(bytes),
    digest: () => hash.digest("hex"),
  };
}

export async function portableSha256(): Promise<Sha256> {
  const { sha256 } = await import("@noble/hashes/sha2.js");
  const hash = sha256.create();
  return {
    update: (bytes) => void hash.update(bytes),
    digest: () =>
      Array.from(hash.digest(), (byte) => byte.toString(16).padStart(2, "0"))
        .join(""),
  };
}
