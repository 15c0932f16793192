import { type Facts, inspected, mayNotInspect, refusesSecretKey } from "../facts/facts.ts";
import { fieldOf, type Reply, wordsOf } from "../facts/reply.ts";
import { fault, type Finding } from "../findings/finding.ts";
import { findDeploymentFault } from "./functions.ts";

/** PostgREST and PostgreSQL: there is no such function, or it may not be called. */
const REPORTED_ELSEWHERE: readonly unknown[] = ["PGRST202", "42883", "42501"];

/** That a check could not be made: then nobody knows whether all is well. */
export function unmade(check: string, reply: Reply): Finding {
  return fault(
    check,
    `This could not be checked: ${wordsOf(reply)}.`,
    "Run the doctor again. If it stays, the log of the database or of the function says why.",
  );
}

/** `unmade`, unless the answer failed for a reason that another check reports. */
export function unmadeByDatabase(check: string, reply: Reply, facts: Facts): Finding[] {
  if (inspected(facts) === null && !mayNotInspect(facts) && !isAnswered(facts)) return [];
  if (refusesSecretKey(facts)) return [];
  return REPORTED_ELSEWHERE.includes(fieldOf(reply, "code")) ? [] : [unmade(check, reply)];
}

/** The same for an answer of a function. */
export function unmadeByFunction(
  check: string,
  reply: Reply,
  { name, facts }: { readonly name: string; readonly facts: Facts },
): Finding[] {
  const found = facts.functions.find((other) => other.name === name)!;
  if (refusesSecretKey(facts) || findDeploymentFault(found) !== null) return [];
  // The function refuses the secret key, or is older than the operation.
  return reply.status === 401 || reply.status === 404 ? [] : [unmade(check, reply)];
}

/** Whether the database has answered, though not with what was asked for. */
function isAnswered({ inspection }: Facts): boolean {
  return REPORTED_ELSEWHERE.includes(fieldOf(inspection, "code"));
}
