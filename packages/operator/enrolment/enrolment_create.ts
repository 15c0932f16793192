import { UsageError } from "../../command/usage_error.ts";
import { note } from "../../command/terminal/output.ts";
import { defineOperation, type Operation } from "../command.ts";
import { quotaOf } from "../endings/quota.ts";
import { callFunctionAsOperator } from "../function_call.ts";
import { readExpiry } from "../key_requests.ts";
import { readObject } from "./all_enrolments.ts";
import type { Enrolment } from "./enrolment.ts";
import { wholeNumber } from "./whole_number.ts";

type Created = Enrolment & { readonly enrolment_key?: string };

export const enrolmentCreate: Operation = defineOperation({
  summary: "Make an enrolment key and print it, or trust an issuer's tokens as a file says.",
  positionals: {
    usage: "[FILE]",
    least: 0,
    most: 1,
    wrong: "Name one file.",
    completes: "file",
  },
  example: "agentops enrolment create --label 'builders in eu' --prefix builder- --uses 20",
  options: {
    label: { type: "string", value: "TEXT", help: "what it is for" },
    "agent-id": {
      type: "string",
      value: "AGENT",
      help: "the agent that enrols with it; default: each names itself",
    },
    prefix: {
      type: "string",
      value: "TEXT",
      help: "what the names of its agents begin with, such as builder-; needed for several uses",
    },
    template: {
      type: "string",
      value: "TEXT",
      help: "instead of a prefix: what {agent_name} becomes, such as vm-{agent_name}-eu",
    },
    tag: { type: "string", value: "TAG", multiple: true, help: "a tag that its agents have" },
    uses: {
      type: "string",
      value: "N",
      help: "how often agents can enrol with it, or `any`; default: 1",
    },
    "expires-at": {
      type: "string",
      value: "TIMESTAMP",
      help: "when it ends, such as 2027-01-31T09:30:00Z, or `never`; default: in an hour",
    },
    "session-seconds": {
      type: "string",
      value: "SECONDS",
      help: "how long an agent key from this enrolment is valid; default: 3600",
    },
    "ephemeral-seconds": {
      type: "string",
      value: "SECONDS",
      help: "how long after its last contact an agent is removed; default: never",
    },
    "max-agents": {
      type: "string",
      value: "N",
      help: "how many of its agents may exist at a time; default: 1000",
    },
    "max-instances": {
      type: "string",
      value: "N",
      help: "how many instances of one agent may run at a time; default: 1",
    },
    quota: {
      type: "string",
      value: "BYTES",
      help:
        "how much its agents may hold together, such as 500G, or 0 for any number; default: ten times the project's quota for one agent",
    },
  },
  async run({ positionals: [file], values }, output) {
    if (file !== undefined && Object.values(values).some((value) => value !== undefined)) {
      throw new UsageError("With a file, give no options: the file says everything.");
    }
    const request = file === undefined
      ? {
        kind: "key",
        tags: values.tag ?? [],
        ...(values.label !== undefined && { label: values.label }),
        ...(values["agent-id"] !== undefined && { agent_id: values["agent-id"] }),
        ...(values.prefix !== undefined && { agent_prefix: values.prefix }),
        ...(values.template !== undefined && { agent_template: values.template }),
        ...(values.uses !== undefined &&
          { uses_left: values.uses === "any" ? null : wholeNumber("uses", values.uses) }),
        ...(values["expires-at"] !== undefined && {
          expires_at: values["expires-at"] === "never" ? null : readExpiry(values["expires-at"]),
        }),
        ...number("session-seconds", values["session-seconds"]),
        ...number("ephemeral-seconds", values["ephemeral-seconds"]),
        ...number("max-agents", values["max-agents"]),
        ...number("max-instances", values["max-instances"]),
        ...(values.quota !== undefined && { quota_bytes: quotaOf(values.quota) }),
      }
      : { kind: "trust", ...await readObject(file) };
    const created = await callFunctionAsOperator(
      "/agent-artifacts/enrolment/put",
      request,
    ) as Created;
    const { enrolment_id, enrolment_key } = created;
    await output.value(created, () => enrolment_key ?? enrolment_id);
    const end =
      `End it, and every agent that enrolled with it, with: agentops enrolment revoke ${enrolment_id}`;
    note(enrolment_key === undefined ? end : `The key is not shown again. ${end}`);
  },
});

function number(option: string, text: string | undefined): Record<string, number> {
  if (text === undefined) return {};
  return { [option.replace("-", "_")]: wholeNumber(option, text) };
}
