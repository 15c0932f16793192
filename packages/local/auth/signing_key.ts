import { generateKeyPairSync } from "node:crypto";
import { readFile } from "node:fs/promises";
import { CommandError } from "../../command/command_error.ts";
import { stateFiles, writePrivateFile } from "../state/state_files.ts";

/** The private key of a state directory's users, a JWK: elliptic curve, P-256, for ES256. */
export interface SigningKey {
  readonly kty: string;
  readonly crv: string;
  readonly x: string;
  readonly y: string;
  readonly d: string;
  readonly kid: string;
  readonly alg: "ES256";
}

/** The part of the key that may be public. */
export type PublicKey = Omit<SigningKey, "d">;

/**
 * The key that signs the tokens of users. The first start makes it, readable by this user alone.
 * Later starts read it. Throws CommandError if the key does not exist, unless `make` is set.
 */
export async function readSigningKey(
  stateDir: string,
  { make }: { readonly make: boolean },
): Promise<SigningKey> {
  const file = stateFiles(stateDir).authKey;
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ENOENT") {
      throw new CommandError(
        `${file} cannot be read: remove it, and the next start makes another.`,
      );
    }
    if (!make) {
      throw new CommandError(`${file} does not exist: start the service first.`, { cause });
    }
  }
  const key = makeSigningKey();
  await writePrivateFile(file, JSON.stringify(key, null, 2) + "\n");
  return key;
}

export function makeSigningKey(): SigningKey {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwk = privateKey.export({ format: "jwk" }) as Omit<SigningKey, "kid" | "alg">;
  return { ...jwk, kid: crypto.randomUUID(), alg: "ES256" };
}

export function publicKeyOf({ d: _, ...publicKey }: SigningKey): PublicKey {
  return publicKey;
}
