import type { Agent } from "./known.ts";

/** A standing grant that an owner has made. */
export interface KnownStanding {
  /** Such as `s7`: made in step 7. */
  readonly name: string;
  readonly id: string;
  readonly owner: Agent;
  /** The whole name of a file or, with `isPrefix`, the beginning of names. */
  readonly covered: string;
  readonly isPrefix: boolean;
  /** An agent's name, or a tag. */
  readonly grantee: string;
  /** Whether what was there already is granted, too. */
  readonly isForExisting: boolean;
  /** Whether an invariant has looked at what was there already. */
  isLookedAt?: true;
  /** Whether somebody was answered that the grants that it made have ended with it. */
  isEmptied?: true;
}

export function covers({ covered, isPrefix }: KnownStanding, key: string): boolean {
  return isPrefix ? key.startsWith(covered) : key === covered;
}
