import { randomBytes } from "node:crypto";
import type { Target } from "./action.ts";

/** How long a person may look at a form before it is sent. */
const LIFETIME_MILLISECONDS = 10 * 60_000;
/** How many tokens are kept. The oldest is forgotten first. */
const MOST_KEPT = 1_000;

interface Issued {
  readonly purpose: string;
  readonly expiresAt: number;
  /** Where the form's result is kept; null until the form is sent. */
  resultId: string | null;
}

/** What became of a token that a form brought. */
export type Redemption =
  | { readonly isValid: true; readonly resultId: string }
  /** `resultId`: the result of the form that used this token up; null if no form did. */
  | { readonly isValid: false; readonly resultId: string | null };

/**
 * Issues one token per form. A token is valid once, for one action on one target, for a short time.
 * So nobody can send a form that this process did not show.
 */
export class ActionTokens {
  readonly #issued = new Map<string, Issued>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  issue(action: string, target: Target): string {
    const token = randomBytes(32).toString("base64url");
    this.#issued.set(token, {
      purpose: purposeOf(action, target),
      expiresAt: this.#now() + LIFETIME_MILLISECONDS,
      resultId: null,
    });
    for (const oldest of this.#issued.keys()) {
      if (this.#issued.size <= MOST_KEPT) break;
      this.#issued.delete(oldest);
    }
    return token;
  }

  /** Uses the token up if it is valid. A token of another form stays valid for that form. */
  redeem(token: string, action: string, target: Target): Redemption {
    const issued = this.#issued.get(token);
    if (issued === undefined || issued.purpose !== purposeOf(action, target)) {
      return { isValid: false, resultId: null };
    }
    if (issued.resultId !== null) return { isValid: false, resultId: issued.resultId };
    if (issued.expiresAt <= this.#now()) return { isValid: false, resultId: null };
    issued.resultId = randomBytes(16).toString("hex");
    return { isValid: true, resultId: issued.resultId };
  }
}

function purposeOf(action: string, target: Target): string {
  return JSON.stringify([action, Object.entries(target).sort()]);
}
