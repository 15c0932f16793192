/** An issuer of tokens with one key per algorithm. It signs whatever a test wants. */
import { Buffer } from "node:buffer";
import { CompactSign, type CryptoKey, exportJWK, generateKeyPair, type JWK } from "jose";

export type Algorithm = "RS256" | "ES256" | "EdDSA";

export interface Key {
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
  /** The public key, with its `kid`. */
  readonly jwk: JWK & { kid: string };
}

export type TokenClaims = Record<string, unknown>;

export interface Signed {
  readonly alg?: Algorithm;
  readonly header?: Record<string, unknown>;
}

export async function newKey(alg: Algorithm, kid = `${alg}-${crypto.randomUUID()}`): Promise<Key> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { privateKey, publicKey, jwk: { ...await exportJWK(publicKey), kid } };
}

/** Two, because a new RSA key takes a third of a second. */
const rsaKeys: Promise<Key>[] = [];
let issuers = 0;

/** An RSA key with a `kid` of its own. It is another one than that of the issuer before. */
async function nextRsaKey(): Promise<Key> {
  const place = issuers++ % 2;
  rsaKeys[place] ??= newKey("RS256");
  const { jwk, ...pair } = await rsaKeys[place]!;
  return { ...pair, jwk: { ...jwk, kid: `RS256-${crypto.randomUUID()}` } };
}

export class Issuer {
  private constructor(
    readonly url: string,
    readonly keys: Readonly<Record<Algorithm, Key>>,
  ) {}

  static async create(url: string): Promise<Issuer> {
    const [RS256, ES256, EdDSA] = await Promise.all([
      nextRsaKey(),
      newKey("ES256"),
      newKey("EdDSA"),
    ]);
    return new Issuer(url, { RS256, ES256, EdDSA });
  }

  get jwks(): { keys: (JWK & { kid: string })[] } {
    return { keys: Object.values(this.keys).map(({ jwk }) => jwk) };
  }

  /** A token with the default claims and these; `undefined` removes a default claim. */
  async sign(claims: TokenClaims, { alg = "RS256", header = {} }: Signed = {}): Promise<string> {
    return await signed(this.keys[alg], this.claims(claims), { alg, header });
  }

  claims(claims: TokenClaims): TokenClaims {
    const now = Math.floor(Date.now() / 1000);
    const usual = { iss: this.url, iat: now, nbf: now, exp: now + 300, jti: crypto.randomUUID() };
    return Object.fromEntries(
      Object.entries({ ...usual, ...claims }).filter(([, value]) => value !== undefined),
    );
  }
}

/** Signs claims with a key. The header may contradict the key. */
export async function signed(
  { privateKey, jwk }: Key,
  claims: unknown,
  { alg, header = {} }: { alg: Algorithm; header?: Record<string, unknown> },
): Promise<string> {
  return await new CompactSign(new TextEncoder().encode(JSON.stringify(claims)))
    .setProtectedHeader({ alg, kid: jwk.kid, typ: "JWT", ...header })
    .sign(privateKey);
}

export function part(value: unknown): string {
  return Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString(
    "base64url",
  );
}
