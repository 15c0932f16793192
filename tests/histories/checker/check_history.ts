import type { Entry, Rule, Violation } from "../history.ts";
import {
  commitsAreNotLost,
  committedCanBeOpened,
  contentIsTheDigest,
  oneCurrentPerKey,
} from "./artifacts.ts";
import { endedGrantsAreNotServed, grantsAreNotLost, nobodyOpensWithoutAGrant } from "./grants.ts";
import {
  addressesAreUnique,
  oneTextPerVersion,
  pubkeysAreUnique,
  versionsNeverGoBack,
} from "./peers.ts";
import { bothSidesReadOnePsk, noTwoPairsShareAPsk } from "./psks.ts";
import { peersAreSharedByRule, revokedRulesAreNotShown } from "./rules.ts";

/** Whatever dies: the service says that it is not there, and not that it does not know why. */
const noInternalErrors: Rule = (history) =>
  // Storage answers downloads itself, with a 500 while its database is away.
  history.filter(({ operation, status }) => status === 500 && operation !== "download").map((
    entry,
  ) => ({
    rule: "an answer is 500",
    entries: [entry],
  }));

const RULES: readonly Rule[] = [
  noInternalErrors,
  endedGrantsAreNotServed,
  nobodyOpensWithoutAGrant,
  grantsAreNotLost,
  oneCurrentPerKey,
  commitsAreNotLost,
  committedCanBeOpened,
  contentIsTheDigest,
  versionsNeverGoBack,
  oneTextPerVersion,
  addressesAreUnique,
  pubkeysAreUnique,
  bothSidesReadOnePsk,
  noTwoPairsShareAPsk,
  revokedRulesAreNotShown,
  peersAreSharedByRule,
];

/**
 * Every contradiction between a recorded history and the contract. A request without an answer, or
 * with a 5xx, may have had its effect at any time since it began, or never.
 */
export function checkHistory(history: readonly Entry[]): Violation[] {
  return RULES.flatMap((rule) => rule(history));
}
