import { sign, verify } from "hono/jwt";
import { storageErrors } from "./storage_error.ts";

/** As on the hosted platform and in the CLI. A caller cannot choose it. */
const UPLOAD_TOKEN_SECONDS = 7200;

/** Makes and checks every token of the stand-in: HS256 under the project's JWT secret. */
export class Tokens {
  readonly #secret: string;

  constructor(jwtSecret: string) {
    this.#secret = jwtSecret;
  }

  /** A token for the upload of one object. `objectUrl`: `<bucket>/<path>`. */
  signUpload(objectUrl: string, options: { readonly upsert: boolean }): Promise<string> {
    return this.#sign(
      { url: objectUrl, upsert: options.upsert, scope: "upload" },
      UPLOAD_TOKEN_SECONDS,
    );
  }

  signDownload(objectUrl: string, seconds: number): Promise<string> {
    return this.#sign({ url: objectUrl, scope: "download" }, seconds);
  }

  /** Checks a signed URL's token. Throws StorageError. */
  async verifySigned(
    token: string | undefined,
    wanted: { readonly scope: "upload" | "download"; readonly objectUrl: string },
  ): Promise<{ readonly upsert: boolean; readonly expiresAt: Date }> {
    if (!token) {
      throw storageErrors.invalidRequest("querystring must have required property 'token'");
    }
    const claims = await this.#verify(token);
    if (claims["scope"] !== wanted.scope || claims["url"] !== wanted.objectUrl) {
      throw storageErrors.invalidSignature();
    }
    return { upsert: claims["upsert"] === true, expiresAt: new Date(Number(claims["exp"]) * 1000) };
  }

  /** The role that a key's JWT names, which row level security uses. Throws StorageError. */
  async roleOf(authorization: string | undefined): Promise<unknown> {
    if (authorization === undefined) {
      throw storageErrors.invalidRequest("headers must have required property 'authorization'");
    }
    return (await this.#verify(authorization.replace(/^Bearer /i, "")))["role"];
  }

  #sign(claims: Record<string, unknown>, seconds: number): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    return sign({ ...claims, iat: now, exp: now + seconds }, this.#secret, "HS256");
  }

  async #verify(token: string): Promise<Record<string, unknown>> {
    try {
      return await verify(token, this.#secret, "HS256");
    } catch (cause) {
      // Use own words: the library's message may quote the token.
      const expired = cause instanceof Error && cause.name === "JwtTokenExpired";
      throw storageErrors.invalidJwt(
        expired ? '"exp" claim timestamp check failed' : "Invalid Compact JWS",
      );
    }
  }
}
