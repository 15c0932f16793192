import type { Action, Target } from "./action.ts";
import { createEnrolment, revokeEnrolment } from "./enrolments.ts";
import { endGrant, grantAgain } from "./grants.ts";
import { createKey, revokeKey, revokeKeys } from "./keys.ts";
import { rotatePsk } from "./psks.ts";
import { removeAgent } from "./removal.ts";
import { endRule, putRule } from "./rules.ts";
import { blockSender, unblockSender } from "./senders.ts";

/** Everything that the operator can do from the page, by the names in links. */
const ACTIONS: ReadonlyMap<string, Action> = new Map([
  ["agent.remove", removeAgent],
  ["enrolment.create", createEnrolment],
  ["enrolment.revoke", revokeEnrolment],
  ["grant.again", grantAgain],
  ["grant.end", endGrant],
  ["key.create", createKey],
  ["key.revoke", revokeKey],
  ["keys.revoke", revokeKeys],
  ["psk.rotate", rotatePsk],
  ["rule.end", endRule],
  ["rule.put", putRule],
  ["sender.block", blockSender],
  ["sender.unblock", unblockSender],
]);

export function findAction(name: string): Action | null {
  return ACTIONS.get(name) ?? null;
}

/** Picks the values that an action takes from those of a link or a form. */
export function targetOf({ takes }: Action, values: URLSearchParams): Target {
  return Object.fromEntries(takes.map((name) => [name, (values.get(name) ?? "").trim()]));
}

/** What was filled in: everything that is neither part of the target nor the token. */
export function inputsOf({ takes }: Action, values: URLSearchParams): Target {
  return Object.fromEntries(
    Array.from(values).filter(([name]) => name !== "token" && !takes.includes(name)),
  );
}
