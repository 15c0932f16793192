import { runTask } from "../../packages/command/run_task.ts";
import { instantCell } from "../output/cells.ts";
import { allEnrolments } from "./all_enrolments.ts";
import { endOf } from "./enrolment.ts";

await runTask({
  task: "enrolment:list",
  summary: "List the enrolments, oldest first: which proofs give agent keys.",
  example: "deno task enrolment:list --ended",
  options: {
    ended: { type: "boolean", help: "also those that have ended" },
  },
  async run({ values }, output) {
    async function* rows() {
      for await (const enrolment of allEnrolments()) {
        if (values.ended === true || endOf(enrolment) === null) yield enrolment;
      }
    }
    await output.rows(rows(), {
      heads: [
        "ENROLMENT",
        "BY",
        "USES LEFT",
        "AGENTS",
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
        `up to ${enrolment.max_agents}`,
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
