import { UsageError } from "../../command/usage_error.ts";
import { defineOperation, type Operation } from "../command.ts";
import { confirm, DELETION_OPTIONS } from "./confirmation.ts";
import { callAsOperator } from "../operator_call.ts";
import { sinceOf } from "../output/since.ts";
import { rowsOf } from "../pages.ts";
import { assertAgentIsNamed } from "../reads/known_agent.ts";
import type { GrantRow } from "../reads/rows.ts";

const OPERATOR = { kind: "operator" };

export const grantsRevoke: Operation = defineOperation({
  summary: "End the live grants that an agent gave, all or those since a time.",
  example: "agentops grants revoke --by planner --since 2d",
  options: {
    by: { type: "string", value: "AGENT", help: "the agent that gave them" },
    to: { type: "string", value: "AGENT", help: "only those to this agent" },
    since: {
      type: "string",
      value: "WHEN",
      help: "only those given since: 90m, 2h, 7d ago, a date or a timestamp",
    },
    ...DELETION_OPTIONS,
  },
  async run({ values }, output) {
    if (values.by === undefined) throw new UsageError("Name the agent that gave them: --by AGENT.");
    const since = sinceOf(values.since);
    await assertAgentIsNamed(values.by, values.to);
    const grants: GrantRow[] = [];
    const parameters = { from_agent: values.by, artifact_id: null, to_agent: values.to ?? null };
    for await (const grant of rowsOf<GrantRow>("list_all_grants", { parameters })) {
      if (since === null || Date.parse(grant.granted_at) >= Date.parse(since)) grants.push(grant);
    }
    const readers = new Set(grants.map(({ to_agent, to_tag }) =>
      to_agent ?? to_tag ?? "anyone with the link"
    )).size;
    const what = `${grants.length} live grants by ${values.by}, to ${readers} readers`;
    if (values["dry-run"]) {
      return await output.value(
        { would_revoke: grants.length, grant_ids: grants.map(({ grant_id }) => grant_id) },
        () => `Would end: ${what}. Nothing was changed.`,
      );
    }
    if (grants.length > 0) await confirm(`This ends ${what}.`, values);
    let revoked = 0;
    for (const { grant_id } of grants) {
      const answer = await callAsOperator("revoke_grants", {
        caller: OPERATOR,
        artifact_id: null,
        to_agent: null,
        grant_id,
      }) as { revoked: number };
      revoked += answer.revoked;
    }
    await output.value({ revoked }, () => `Ended ${revoked} grants.`);
  },
});
