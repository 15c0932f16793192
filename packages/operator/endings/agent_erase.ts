import { UsageError } from "../../command/usage_error.ts";
import { note } from "../../command/terminal/output.ts";
import { CommandError } from "../../command/command_error.ts";
import { defineOperation, type Operation } from "../command.ts";
import { inCounts, namedDeployment } from "./confirmation.ts";
import { countMentions, eraseAgent, type Receipt, sumOf } from "./erasing.ts";
import { writerText } from "../reads/held_log.ts";
import { nothingNames } from "../reads/known_agent.ts";

function receiptText(receipt: Receipt): string {
  const { pseudonym, erased, left, deciding_enrolments, complete, held_by, events } = receipt;
  return [
    `Erased: ${inCounts(erased)}.`,
    `Records that had to stay now contain the random name ${pseudonym} instead.`,
    `${events.altered} events were altered; ${
      events.in_order ? "their order and everything else in them are unchanged" : "CHECK THE LOG"
    }.`,
    ...(complete
      ? [
        "Nothing names the agent. The next sweeps remove the bytes of its files. It stays out: nobody can enrol or sign in under its name, unless you call agent_api_readmit_agent.",
      ]
      : held_by.length > 0
      ? [
        `NOT COMPLETE (${
          inCounts(left)
        } left): a transaction that has written something is still open, so what it and later ones wrote cannot be erased yet. It belongs to ${
          writerText(held_by[0]!)
        }. End it (agentops doctor says how), then run this again.`,
      ]
      : sumOf(left) > 0 || deciding_enrolments.length === 0
      ? [
        `NOT COMPLETE: the agent is still named, or was named again during the run (${
          inCounts(left)
        }). Run this again.`,
      ]
      : []),
    ...(deciding_enrolments.length > 0
      ? [`NOT COMPLETE: ${stillDecided(deciding_enrolments)}`]
      : []),
  ].join("\n");
}

/** A trust's condition may contain the name by chance, so only the operator can decide. */
function stillDecided(enrolments: readonly string[]): string {
  return `The name is in the conditions for who enrols by ${
    enrolments.join(", ")
  }, which are not altered. Revoke each (agentops enrolment revoke), then run this again.`;
}

export const agentErase: Operation = defineOperation({
  summary: "End everything of an agent, and erase its name. This cannot be undone.",
  positionals: { usage: "<agent_id>", least: 1, most: 1, wrong: "Name one agent." },
  example: "agentops agent erase planner --confirm planner",
  options: {
    confirm: { type: "string", value: "AGENT", help: "the same name again" },
    "dry-run": { type: "boolean", help: "show what would be erased, and change nothing" },
  },
  async run({ positionals: [agentId], values }, output) {
    const { mentions, deciding_enrolments } = await countMentions(agentId!);
    if (sumOf(mentions) === 0) {
      throw deciding_enrolments.length === 0
        ? nothingNames(agentId!)
        : new CommandError(stillDecided(deciding_enrolments));
    }
    if (values["dry-run"]) {
      return await output.value(
        { agent_id: agentId!, would_erase: mentions, deciding_enrolments },
        () =>
          [
            `Would erase: ${inCounts(mentions)}. Nothing was changed.`,
            ...(deciding_enrolments.length > 0 ? [stillDecided(deciding_enrolments)] : []),
          ].join("\n"),
      );
    }
    if (values.confirm !== agentId) {
      throw new UsageError(
        `This erases ${
          inCounts(mentions)
        } permanently. Nothing was changed: pass --confirm ${agentId} to do it ${await namedDeployment()}.`,
      );
    }
    const receipt = await eraseAgent(agentId!);
    await output.value(receipt, receiptText);
    note("If users acted as this agent, run it again in two minutes: counts are written later.");
    return receipt.complete ? 0 : 1;
  },
});
