import { nodeModule } from "./node_module.ts";

/** An incremental SHA-256, which WebCrypto does not have. */
export interface Sha256 {
  update(bytes: Uint8Array): void;
  /** Returns hex digits. Call it only once. */
  digest(): string;
}

/** Uses `node:crypto` if the platform has it, else a package that is loaded on demand. */
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
