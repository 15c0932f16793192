import { allEnrolments } from "../../enrolment/all_enrolments.ts";
import { endOf, type Enrolment } from "../../enrolment/enrolment.ts";
import { revokeWhole } from "../../enrolment/revoke_whole.ts";
import { callFunctionAsOperator } from "../../function_call.ts";
import { CommandError } from "../../../command/command_error.ts";
import { type Action, counted, InputError } from "./action.ts";

type Created = Enrolment & { readonly enrolment_key: string };

async function readEnrolment(wanted: string): Promise<Enrolment> {
  for await (const enrolment of allEnrolments()) {
    if (enrolment.enrolment_id === wanted) return enrolment;
  }
  throw new CommandError("There is no such enrolment.");
}

/** Makes an enrolment key, which is shown once. */
export const createEnrolment: Action = {
  takes: [],
  plan() {
    return Promise.resolve({
      title: "Make an enrolment key",
      effects: [
        "Anyone who has it can exchange it for an agent key. It expires in an hour.",
        "It is shown once, on the next page. Only its hash is stored.",
      ],
      undo: "It can be undone: revoke the enrolment. That ends every agent that enrolled with it.",
      verb: "Make the enrolment key",
      inputs: [
        { name: "label", label: "Label", hint: "What it is for. May be empty." },
        { name: "agent_id", label: "Agent", hint: "Which agent enrols. Empty: each names itself." },
        {
          name: "prefix",
          label: "Prefix",
          hint:
            "What the names of its agents begin with, such as builder-. Needed for several uses.",
        },
        { name: "uses", label: "Uses", hint: "How many enrolments. Empty: one." },
        { name: "tags", label: "Tags", hint: "Such as tag:builder tag:eu. May be empty." },
      ],
    });
  },
  async run(_target, { label = "", agent_id = "", prefix = "", uses = "", tags = "" }) {
    if (!/^(?:[1-9][0-9]{0,6})?$/.test(uses.trim())) {
      throw new InputError("Uses takes a whole number.");
    }
    const made = await asInput(callFunctionAsOperator("/agent-artifacts/enrolment/put", {
      kind: "key",
      label: label.trim() || null,
      agent_id: agent_id.trim() || null,
      agent_prefix: prefix.trim() || null,
      uses_left: Number(uses.trim() || 1),
      tags: tags.split(/\s+/).filter(Boolean),
    })) as Created;
    return {
      done: [`The enrolment ${made.enrolment_id} is open until ${made.expires_at}.`],
      secret: { label: "The enrolment key. It is not shown again.", value: made.enrolment_key },
    };
  },
};

/** Turns a 422 of the service into an InputError: a form field was wrong and nothing was made. */
async function asInput<Answer>(asked: Promise<Answer>): Promise<Answer> {
  try {
    return await asked;
  } catch (cause) {
    if (cause instanceof CommandError && cause.message.includes("HTTP 422")) {
      throw new InputError(cause.message.replace(/^.*HTTP 422: /, ""));
    }
    throw cause;
  }
}

/** Ends an enrolment, and every agent that enrolled with it. */
export const revokeEnrolment: Action = {
  takes: ["enrolment_id"],
  async plan({ enrolment_id = "" }) {
    const enrolment = await readEnrolment(enrolment_id);
    const named = enrolment.label === null ? enrolment_id : `${enrolment_id} (${enrolment.label})`;
    return {
      title: "Revoke an enrolment",
      effects: [
        endOf(enrolment) === null
          ? `Nobody can enrol with ${named} any more.`
          : `${named} has already ended: nobody can enrol with it.`,
        "This ends the agent keys, peers and rules of every agent that enrolled with it.",
      ],
      undo: "It cannot be undone.",
      verb: "Revoke the enrolment",
      isDangerous: true,
      inputs: [
        {
          name: "undo_grants",
          label: "The grants that these agents gave",
          choices: [["no", "Keep them until their own end"], ["yes", "End them, too"]],
        },
      ],
    };
  },
  async run({ enrolment_id = "" }, { undo_grants }) {
    if (undo_grants !== "yes" && undo_grants !== "no") {
      throw new InputError("Choose what happens to the grants.");
    }
    await readEnrolment(enrolment_id);
    const ended = await revokeWhole({ enrolment_id, undo_grants: undo_grants === "yes" });
    return {
      done: [
        `${enrolment_id} is revoked: ${counted(ended.agents, "agent")}, ${
          counted(ended.keys, "agent key")
        }, ${counted(ended.peers, "peer")} and ${counted(ended.grants, "grant")} ended.`,
      ],
    };
  },
};
