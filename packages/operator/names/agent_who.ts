import { definedIn } from "../../command/terminal/bands.ts";
import { plain, widthOfTerminal } from "../../command/terminal/output.ts";
import { defineOperation, type Operation } from "../command.ts";
import { instantCell } from "../output/cells.ts";
import { readWays, type Ways, waysInWords } from "./take_over.ts";

function describe(who: Ways): string {
  const facts: [string, string][] = [
    ["agent", who.agent_id],
    ["belongs to", waysInWords(who)],
    ["since", instantCell(who.taken_at) || "-"],
    ...(who.kept_out === null
      ? []
      : [["kept out", `${who.kept_out}: nobody can enrol or sign in under this name`]] as [
        string,
        string,
      ][]),
    ...who.live_keys.map(({ key_id, enrolment_id, expires_at }): [string, string] => [
      "agent key",
      `${key_id}, ${enrolment_id === null ? "by the operator" : `by ${enrolment_id}`}, ${
        expires_at === null ? "without end" : `until ${instantCell(expires_at)}`
      }`,
    ]),
    ...who.enrolments.map(({ enrolment_id, label, by, may_enter }): [string, string] => [
      "enrolment",
      `${enrolment_id}${label === null ? "" : ` (${plain(label)})`}, by its ${by}: ${
        may_enter && who.kept_out === null ? "can become this agent" : "is refused"
      }`,
    ]),
    [
      "users",
      who.users
        ? "a user whose app_metadata.agent_id has this name can become this agent"
        : "are refused",
    ],
    [
      "policy",
      who.policy_lines === 0 ? "does not name it" : `names it in ${who.policy_lines} rules`,
    ],
  ];
  return definedIn(facts, widthOfTerminal());
}

export const agentWho: Operation = defineOperation({
  summary: "Show who can become an agent: its owner, agent keys, enrolments, users, the policy.",
  positionals: { usage: "<agent_id>", least: 1, most: 1, wrong: "Name one agent." },
  example: "agentops agent who finance",
  async run({ positionals: [agentId] }, output) {
    await output.value(await readWays(agentId!), describe);
  },
});
