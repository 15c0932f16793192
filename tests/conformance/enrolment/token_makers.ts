/** A list of tokens, each of which is made when it is sent. */
import type { Issuer, TokenClaims } from "./issuer.ts";

export interface WrongToken {
  readonly name: string;
  /**
   * Makes the token, whose times count from now: a token that waits for its turn may become valid,
   * or expire.
   */
  make(): Promise<string>;
  readonly reason: string;
  readonly claim?: string;
}

/** A valid token, just signed. */
interface Fresh {
  readonly token: string;
  readonly header: string;
  readonly claims: string;
  readonly signature: string;
}

/** Makes a wrong token, perhaps from a valid one. */
export type Maker = (fresh: Fresh) => string | Promise<string>;

/** An empty list of tokens that differ from one with the claims `right`, and what adds to it. */
export function listOf(issuer: Issuer, right: TokenClaims) {
  const wrong: WrongToken[] = [];
  const add = (name: string, maker: Maker, reason: string, claim?: string) =>
    wrong.push({
      name,
      async make() {
        const token = await issuer.sign(right);
        const [header, claims, signature] = token.split(".") as [string, string, string];
        return await maker({ token, header, claims, signature });
      },
      reason,
      ...(claim !== undefined && { claim }),
    });
  /** `changes` may depend on the present time, in seconds. */
  const withClaims = (
    name: string,
    changes: TokenClaims | ((now: number) => TokenClaims),
    reason: string,
    claim?: string,
  ) => {
    const changesAt = typeof changes === "function" ? changes : () => changes;
    const maker = () => issuer.sign({ ...right, ...changesAt(Math.floor(Date.now() / 1000)) });
    add(name, maker, reason, claim);
  };
  return { wrong, add, withClaims };
}
