import { defineOperation, type Operation } from "../command.ts";
import { bytesOfLimit, instantCell, ofLimit } from "../output/cells.ts";
import { readLimits } from "../reads/settings.ts";
import { allEnrolments } from "./all_enrolments.ts";
import { endOf } from "./enrolment.ts";
import { withUse } from "./use.ts";

export const enrolmentList: Operation = defineOperation({
  summary: "List the enrolments, oldest first: which proofs give agent keys.",
  example: "agentops enrolment list --ended",
  options: {
    ended: { type: "boolean", help: "also those that have ended" },
  },
  async run({ values }, output) {
    // An enrolment without a quota of its own has ten times that of one agent.
    const usualQuota = 10 * (await readLimits()).quota_bytes;
    async function* enrolments() {
      for await (const enrolment of allEnrolments()) {
        if (values.ended === true || endOf(enrolment) === null) yield enrolment;
      }
    }
    await output.rows(withUse(enrolments()), {
      heads: [
        "ENROLMENT",
        "BY",
        "USES LEFT",
        "AGENTS",
        "HELD",
        "INSTANCES",
        "ENDS",
        "AGENT",
        "TAGS",
        "LABEL",
      ],
      cells: (enrolment) => [
        enrolment.enrolment_id,
        enrolment.issuer ?? "enrolment key",
        enrolment.uses_left === null ? "any" : String(enrolment.uses_left),
        ofLimit(enrolment.agents, enrolment.max_agents),
        bytesOfLimit(enrolment.held_bytes, enrolment.quota_bytes ?? usualQuota),
        String(enrolment.max_instances),
        endOf(enrolment) ?? (instantCell(enrolment.expires_at) || "never"),
        enrolment.agent_id ?? enrolment.agent_template ??
          (enrolment.agent_prefix ? `${enrolment.agent_prefix}…` : ""),
        enrolment.tags.join(" "),
        enrolment.label ?? "",
      ],
    });
  },
});
