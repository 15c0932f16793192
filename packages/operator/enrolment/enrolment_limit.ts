import { inBytes } from "../../command/terminal/output.ts";
import { UsageError } from "../../command/usage_error.ts";
import { defineOperation, type Operation } from "../command.ts";
import { quotaOf } from "../endings/quota.ts";
import { callAsOperator } from "../operator_call.ts";
import type { Enrolment } from "./enrolment.ts";
import { wholeNumber } from "./whole_number.ts";

export const enrolmentLimit: Operation = defineOperation({
  summary: "Change how many agents and bytes an enrolment may have. Ends no agent and no file.",
  positionals: { usage: "<enrolment_id>", least: 1, most: 1, wrong: "Name one enrolment." },
  example: "agentops enrolment limit enr_0123456789abcdef0123456789abcdef --quota 500G",
  options: {
    "max-agents": {
      type: "string",
      value: "N",
      help: "how many of its agents may exist at a time",
    },
    quota: {
      type: "string",
      value: "BYTES",
      help: "how much its agents may hold together, such as 500G; 0: any number; none: the default",
    },
  },
  async run({ positionals: [enrolment_id], values }, output) {
    const limits = {
      ...(values["max-agents"] !== undefined &&
        { max_agents: wholeNumber("max-agents", values["max-agents"]) }),
      ...(values.quota !== undefined && { quota_bytes: quotaOf(values.quota) }),
    };
    if (Object.keys(limits).length === 0) throw new UsageError("Give --max-agents or --quota.");
    const limited = await callAsOperator("set_enrolment_limits", {
      caller: { kind: "operator" },
      enrolment_id,
      limits,
    }) as Enrolment;
    await output.value(
      limited,
      () =>
        `${enrolment_id} may have ${limited.max_agents} agents, which may hold ${
          described(limited.quota_bytes ?? null)
        } together.`,
    );
  },
});

function described(quota: number | null): string {
  if (quota === null) return "ten times the project's quota for one agent";
  return quota === 0 ? "any number of bytes" : inBytes(quota);
}
