import type { Facts } from "../facts/facts.ts";
import { type Finding, note, ok } from "../findings/finding.ts";
import { unmadeByFunction } from "./unmade.ts";
import { runOwnTask } from "../findings/remedies.ts";
import { endOf, type Enrolment } from "../../enrolment/enrolment.ts";

/** Which enrolment keys stay usable forever by anyone who finds them, or give any name. */
export function checkEnrolments(facts: Facts): Finding[] {
  const { enrolments: { status, body }, inspection } = facts;
  if (status !== 200) {
    return unmadeByFunction("enrolments", facts.enrolments, { name: "agent-artifacts", facts });
  }
  const open = (body as { enrolments: Enrolment[] }).enrolments.filter((enrolment) =>
    endOf(enrolment, nowOf(inspection.body)) === null
  );
  const endless = open.filter(({ kind, uses_left, expires_at }) =>
    kind === "key" && uses_left === null && expires_at === null
  );
  const anyName = open.filter(({ kind, uses_left, agent_id, agent_prefix, agent_template }) =>
    kind === "key" && uses_left !== 1 && (agent_id ?? agent_prefix ?? agent_template) === null
  );
  if (open.length === 0) return [];
  if (endless.length + anyName.length === 0) {
    return [ok("enrolments", `Open enrolments: ${open.length}; every enrolment key is limited.`)];
  }
  return [
    ...anyName.map(describeAnyName),
    ...endless.map(({ enrolment_id, label }) =>
      note(
        "enrolments",
        `Whoever finds the enrolment key of ${
          label === null ? enrolment_id : `${enrolment_id} (${label})`
        } can become an agent: it never expires, and can be used any number of times.`,
        "Give its agents another enrolment: one that expires, or one for an issuer's tokens (docs/fleets.md). Then revoke this one, which also ends every agent that enrolled with it:",
        runOwnTask(`enrolment:revoke ${enrolment_id}`),
      )
    ),
  ];
}

/** Made before such enrolments needed a prefix. */
function describeAnyName({ enrolment_id, label }: Enrolment): Finding {
  return note(
    "enrolments",
    `With the enrolment key of ${
      label === null ? enrolment_id : `${enrolment_id} (${label})`
    }, an agent can take every name that is free, also one that you have in mind for another agent.`,
    "Give its agents another enrolment, with a prefix (enrolment:create --prefix). Then revoke this one, which also ends every agent that enrolled with it:",
    runOwnTask(`enrolment:revoke ${enrolment_id}`),
  );
}

/** The database's time, or else this machine's. */
function nowOf(body: unknown): number {
  const { time } = Object(body) as { time?: unknown };
  return typeof time === "string" ? Date.parse(time) : Date.now();
}
