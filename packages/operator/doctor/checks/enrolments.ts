import { inBytes } from "../../../command/terminal/output.ts";
import type { Facts } from "../facts/facts.ts";
import { type Finding, note, ok } from "../findings/finding.ts";
import { unmadeByDatabase, unmadeByFunction } from "./unmade.ts";
import { runOwn } from "../findings/remedies.ts";
import { endOf, type Enrolment } from "../../enrolment/enrolment.ts";

/** An enrolment that is near a limit, as list_full_enrolments returns it. */
interface FullEnrolment {
  readonly enrolment_id: string;
  readonly label: string | null;
  readonly agents: number;
  readonly max_agents: number;
  readonly held_bytes: number;
  /** 0: none. */
  readonly quota_bytes: number;
}

/**
 * Which enrolment keys stay usable forever by anyone who finds them, or give any name, and which
 * enrolments will soon have no place for another agent, or for a file.
 */
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
  const { fullEnrolments } = facts;
  const full = fullEnrolments.status === 200
    ? (fullEnrolments.body as FullEnrolment[]).flatMap(describeFull)
    : unmadeByDatabase("enrolments", fullEnrolments, facts);
  if (open.length + full.length === 0) return [];
  if (endless.length + anyName.length + full.length === 0) {
    return [ok("enrolments", `Open enrolments: ${open.length}; every enrolment key is limited.`)];
  }
  return [
    ...full,
    ...anyName.map(describeAnyName),
    ...endless.map(({ enrolment_id, label }) =>
      note(
        "enrolments",
        `Whoever finds the enrolment key of ${
          nameOf({ enrolment_id, label })
        } can become an agent: it never expires, and can be used any number of times.`,
        "Give its agents another enrolment: one that expires, or one for an issuer's tokens (docs/fleets.md). Then revoke this one, which also ends every agent that enrolled with it:",
        runOwn(`enrolment revoke ${enrolment_id}`),
      )
    ),
  ];
}

/** Made before such enrolments needed a prefix. */
function describeAnyName({ enrolment_id, label }: Enrolment): Finding {
  return note(
    "enrolments",
    `With the enrolment key of ${
      nameOf({ enrolment_id, label })
    }, an agent can take every name that is free, also one that you have in mind for another agent.`,
    "Give its agents another enrolment, with a prefix (agentops enrolment create --prefix). Then revoke this one, which also ends every agent that enrolled with it:",
    runOwn(`enrolment revoke ${enrolment_id}`),
  );
}

/** At least nine tenths of a limit are used. */
function describeFull(full: FullEnrolment): Finding[] {
  const { enrolment_id, agents, max_agents, held_bytes, quota_bytes } = full;
  const findings: Finding[] = [];
  if (agents >= 0.9 * max_agents) {
    findings.push(note(
      "enrolments",
      `${
        nameOf(full)
      } has ${agents} of at most ${max_agents} agents. Beyond that, new agents are refused.`,
      "If you know these agents (agentops agent list), allow more:",
      runOwn(
        `enrolment limit ${enrolment_id} --max-agents ${Math.min(2 * max_agents, 100_000)}`,
      ),
    ));
  }
  if (quota_bytes > 0 && held_bytes >= 0.9 * quota_bytes) {
    findings.push(note(
      "enrolments",
      `The agents of ${nameOf(full)} hold ${inBytes(held_bytes)} of at most ${
        inBytes(quota_bytes)
      } together. Beyond that, new files are refused.`,
      "If you know these files (agentops agent list), allow more:",
      runOwn(`enrolment limit ${enrolment_id} --quota ${doubled(quota_bytes)}`),
    ));
  }
  return findings;
}

/** Twice a quota, as `--quota` takes it. */
function doubled(bytes: number): string {
  const gibibyte = 1024 ** 3;
  return bytes < gibibyte ? String(2 * bytes) : `${Math.ceil(2 * bytes / gibibyte)}G`;
}

function nameOf({ enrolment_id, label }: Pick<Enrolment, "enrolment_id" | "label">): string {
  return label === null ? enrolment_id : `${enrolment_id} (${label})`;
}

/** The database's time, or else this machine's. */
function nowOf(body: unknown): number {
  const { time } = Object(body) as { time?: unknown };
  return typeof time === "string" ? Date.parse(time) : Date.now();
}
