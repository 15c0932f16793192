import { note } from "../../command/terminal/output.ts";
import { CommandError } from "../../command/command_error.ts";
import { defineOperation, type Operation } from "../command.ts";
import { confirm, DELETION_OPTIONS, inCounts } from "../endings/confirmation.ts";
import { callAsOperator } from "../operator_call.ts";
import { findEnrolment } from "./all_enrolments.ts";
import { revokeWhole } from "./revoke_whole.ts";

/**
 * What revoking the enrolment would end. Counts up to 10,000 agents, and up to 100 grants of each.
 */
async function countEnrolled(enrolment_id: string): Promise<Enrolled> {
  return await callAsOperator("count_enrolled", { enrolment_id }) as Enrolled;
}

type Enrolled = Readonly<Record<"agents" | "keys" | "peers" | "grants", number>>;

export const enrolmentRevoke: Operation = defineOperation({
  summary: "End an enrolment, and the agent keys, peers and rules of the agents it enrolled.",
  positionals: {
    usage: "<enrolment_id>",
    least: 1,
    most: 1,
    wrong: "Name one enrolment.",
  },
  example: "agentops enrolment revoke enr_0123456789abcdef0123456789abcdef",
  options: {
    "undo-grants": { type: "boolean", help: "also end the grants that these agents gave" },
    ...DELETION_OPTIONS,
  },
  async run({ positionals: [wanted], values }, output) {
    const enrolment = await findEnrolment(wanted!);
    if (enrolment === null) {
      throw new CommandError("Nothing was revoked: there is no enrolment of this enrolment_id.");
    }
    const { enrolment_id, label } = enrolment;
    const undo_grants = values["undo-grants"] === true;
    const named = label === null ? enrolment_id : `${enrolment_id} (${label})`;
    const { grants, ...others } = await countEnrolled(enrolment_id);
    const counts = undo_grants ? { ...others, grants } : others;
    const what = `${named}, with ${inCounts(counts)}`;
    if (values["dry-run"]) {
      return await output.value(
        { enrolment_id, would_end: counts },
        () => `Would end: ${what}. Nothing was changed.`,
      );
    }
    await confirm(`This ends ${what}.`, values);
    const sums = await revokeWhole(
      { enrolment_id, undo_grants },
      ({ agents }, remaining) => note(`${agents} agents have ended, ${remaining} remain.`),
    );
    await output.value(
      { enrolment_id, ...sums },
      () => `Ended ${enrolment_id}: ${inCounts(sums)}.`,
    );
  },
});
