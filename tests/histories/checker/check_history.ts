import type { Entry, Rule, Violation } from "../history.ts";
import {
  commitsAreNotLost,
  committedCanBeOpened,
  contentIsTheDigest,
  oneCurrentPerKey,
} from "./artifacts.ts";
import {
  endedGrantsAreNotServed,
  grantsAreNotLost,
  nobodyOpensWithoutAGrant,
  nobodySeesVersionsWithoutAGrant,
} from "./grants.ts";
import {
  addressesAreUnique,
  oneTextPerVersion,
  pubkeysAreUnique,
  versionsNeverGoBack,
} from "./peers.ts";
import { bothSidesReadOnePsk, noTwoPairsShareAPsk } from "./psks.ts";
import { peersAreSharedByRule, revokedRulesAreNotShown } from "./rules.ts";
import {
  commitsAreGrantedOnce,
  grantsEndWithTheirPromise,
  nothingElseIsGranted,
  promisedCommitsAreGranted,
  promisedGrantsAreNotLost,
  standingEndsOnce,
  standingIsListed,
} from "./standing/rules.ts";
import {
  attemptsCountUp,
  doneIsFinal,
  lapsedTakesAreFenced,
  oldestFirst,
  oneGrantPerKey,
  oneReplyPerTask,
  oneTakerAtATime,
} from "./tasks.ts";
import { keepEndsOnlyTheOldest, keepEndsTheRest } from "./versions/keep.ts";
import {
  currentNeverGoesBack,
  grantsStayOnTheirVersion,
  openedIsTheVersion,
  readersKeepTheirVersion,
  versionsNeverChange,
  versionsOnlyRise,
} from "./versions/versions.ts";
import {
  deliveriesAreSigned,
  deliveriesHaveIdsAlone,
  endedWebhooksAreLeftAlone,
  eventsAreDelivered,
  nothingElseIsSent,
} from "./webhooks/deliveries.ts";

/**
 * Whatever part is killed, the service answers that it is unavailable, and not with an unexplained
 * 500.
 */
const noInternalErrors: Rule = (history) =>
  // Not of Storage, which answers 500 while its database is away, nor of PostgREST or receivers.
  history.filter(({ operation, status }) => status === 500 && operation.startsWith("/agent-"))
    .map((entry) => ({ rule: "an answer is 500", entries: [entry] }));

const RULES: readonly Rule[] = [
  noInternalErrors,
  endedGrantsAreNotServed,
  nobodyOpensWithoutAGrant,
  nobodySeesVersionsWithoutAGrant,
  grantsAreNotLost,
  oneCurrentPerKey,
  commitsAreNotLost,
  committedCanBeOpened,
  contentIsTheDigest,
  versionsNeverChange,
  versionsOnlyRise,
  currentNeverGoesBack,
  openedIsTheVersion,
  grantsStayOnTheirVersion,
  readersKeepTheirVersion,
  keepEndsOnlyTheOldest,
  keepEndsTheRest,
  commitsAreGrantedOnce,
  promisedCommitsAreGranted,
  promisedGrantsAreNotLost,
  nothingElseIsGranted,
  grantsEndWithTheirPromise,
  standingEndsOnce,
  standingIsListed,
  versionsNeverGoBack,
  oneTextPerVersion,
  addressesAreUnique,
  pubkeysAreUnique,
  bothSidesReadOnePsk,
  noTwoPairsShareAPsk,
  revokedRulesAreNotShown,
  peersAreSharedByRule,
  oneTakerAtATime,
  doneIsFinal,
  lapsedTakesAreFenced,
  attemptsCountUp,
  oldestFirst,
  oneReplyPerTask,
  oneGrantPerKey,
  eventsAreDelivered,
  nothingElseIsSent,
  deliveriesHaveIdsAlone,
  deliveriesAreSigned,
  endedWebhooksAreLeftAlone,
];

/**
 * Finds every contradiction between a recorded history and the contract. A request without an
 * answer, or with a 5xx, may have had its effect at any time after it began, or never.
 */
export function checkHistory(history: readonly Entry[]): Violation[] {
  return RULES.flatMap((rule) => rule(history));
}
