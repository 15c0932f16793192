import { note } from "../../clients/typescript/src/cli/terminal/output.ts";
import { CommandError } from "../../local/command/command_error.ts";
import { runTask } from "../../local/command/run_task.ts";
import { confirm, inCounts } from "../endings/confirmation.ts";
import { allEnrolments } from "./all_enrolments.ts";
import type { Enrolment } from "./enrolment.ts";
import { revokeWhole } from "./revoke_whole.ts";

/** Throws CommandError. */
async function findEnrolment(wanted: string): Promise<Enrolment> {
  for await (const enrolment of allEnrolments()) {
    if (enrolment.enrolment_id === wanted) return enrolment;
  }
  throw new CommandError("Nothing was revoked: there is no enrolment of this enrolment_id.");
}

await runTask({
  task: "enrolment:revoke",
  summary: "End an enrolment, and the keys, peers and rules of every agent that came by it.",
  positionals: {
    usage: "<enrolment_id>",
    least: 1,
    most: 1,
    wrong: "Name one enrolment.",
  },
  example: "deno task enrolment:revoke enr_0123456789abcdef0123456789abcdef",
  options: {
    "undo-grants": { type: "boolean", help: "also end the grants that these agents gave" },
    yes: { type: "boolean", help: "do not ask" },
  },
  async run({ positionals: [wanted], values }, output) {
    const { enrolment_id, label } = await findEnrolment(wanted!);
    const undo_grants = values["undo-grants"] === true;
    const named = label === null ? enrolment_id : `${enrolment_id} (${label})`;
    const grants = undo_grants ? ", their grants" : "";
    await confirm(`This ends ${named} and every agent that came by it${grants}.`, values);
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
