import { CommandError } from "../../../command/command_error.ts";
import { timestamp } from "../../../../supabase/functions/_shared/request/fields.ts";
import { callAsOperator } from "../../operator_call.ts";
import type { MadeKey } from "../../many_keys.ts";
import type { KeyRow } from "../../reads/rows.ts";
import { type Action, counted, InputError, type Target } from "./action.ts";
import { readAnyAgent, readKnownAgent } from "./agent.ts";

const LONGEST_LABEL = 200;

/** Makes an agent key, which is shown once. */
export const createKey: Action = {
  takes: ["agent_id"],
  async plan({ agent_id = "" }) {
    const agent = await readAnyAgent(agent_id);
    return {
      title: `Make an agent key for ${agent_id}`,
      effects: [
        agent === null
          ? `Nothing names ${agent_id} yet: the agent key makes it a new agent.`
          : `${agent_id} has ${counted(agent.live_keys, "live agent key")}. They stay valid.`,
        "The new agent key is shown once, on the next page. Only its hash is stored.",
      ],
      undo: "It can be undone: revoke the new agent key.",
      verb: "Make the agent key",
      inputs: [
        { name: "label", label: "Label", hint: "What the agent key is for. May be empty." },
        {
          name: "expires_at",
          label: "Expires at",
          hint: "Such as 2027-01-31T09:30:00Z. Empty: never.",
        },
      ],
    };
  },
  async run({ agent_id = "" }, inputs) {
    const made = await callAsOperator("create_agent_key", {
      agent_id,
      label: labelOf(inputs),
      expires_at: expiryOf(inputs),
    }) as MadeKey;
    return {
      done: [`${agent_id} has a new agent key, ${made.key_id}.`],
      secret: { label: "The agent key. It is not shown again.", value: made.key },
      undo: {
        action: "key.revoke",
        target: { agent_id, key_id: made.key_id },
        label: "Undo: revoke it",
      },
    };
  },
};

/** Ends one agent key. */
export const revokeKey: Action = {
  takes: ["agent_id", "key_id"],
  async plan({ agent_id = "", key_id = "" }) {
    const { keys } = await readKnownAgent(agent_id);
    const key = keys.find((key) => key.key_id === key_id);
    if (key === undefined) throw new CommandError(`${agent_id} has no such agent key.`);
    if (key.state === "revoked") throw new CommandError("This agent key is revoked already.");
    const others = keys.filter(({ state }) => state === "live").length -
      (key.state === "live" ? 1 : 0);
    return {
      title: `Revoke an agent key of ${agent_id}`,
      effects: [
        `${describeKey(key)} is refused from now on.`,
        others > 0
          ? `${agent_id} keeps ${counted(others, "live agent key")}.`
          : `It is the last live one: ${agent_id} cannot authenticate by an agent key any more.`,
      ],
      undo: "It cannot be undone. Make a new agent key instead.",
      verb: "Revoke the agent key",
      isDangerous: true,
    };
  },
  async run({ agent_id = "", key_id = "" }) {
    const { keys } = await readKnownAgent(agent_id);
    if (!keys.some((key) => key.key_id === key_id)) {
      throw new CommandError(`${agent_id} has no such agent key.`);
    }
    const { revoked } = await callAsOperator("revoke_agent_key", { key_id }) as Revoked;
    return {
      done: [
        revoked === 0
          ? "Nothing was revoked: it was revoked already."
          : `The agent key ${key_id} of ${agent_id} is revoked.`,
      ],
    };
  },
};

/** Ends every agent key of an agent. */
export const revokeKeys: Action = {
  takes: ["agent_id"],
  async plan({ agent_id = "" }) {
    const { live_keys, expired_keys } = await readKnownAgent(agent_id);
    if (live_keys + expired_keys === 0) {
      throw new CommandError(`${agent_id} has no agent key that is not revoked.`);
    }
    return {
      title: `Revoke every agent key of ${agent_id}`,
      effects: [
        `${counted(live_keys, "live agent key")} of ${agent_id} ${
          live_keys === 1 ? "is" : "are"
        } refused from now on${
          expired_keys > 0 ? `, and ${counted(expired_keys, "expired one")} marked as revoked` : ""
        }.`,
        "Its files, grants and rules stay.",
      ],
      undo: "It cannot be undone. Make a new agent key instead.",
      verb: "Revoke every agent key",
      isDangerous: true,
    };
  },
  async run({ agent_id = "" }) {
    const { revoked } = await callAsOperator("revoke_agent_keys", { agent_id }) as Revoked;
    return { done: [`${counted(revoked, "agent key")} of ${agent_id} revoked.`] };
  },
};

interface Revoked {
  readonly revoked: number;
}

function describeKey({ key_id, label, last_used_at }: KeyRow): string {
  const used = last_used_at === null ? "never used" : `last used at ${last_used_at}`;
  return `${key_id}${label === null ? "" : ` (${label})`}, ${used},`;
}

function labelOf({ label = "" }: Target): string | null {
  if (label.length > LONGEST_LABEL) {
    throw new InputError(`A label has at most ${LONGEST_LABEL} characters.`);
  }
  return label.trim() === "" ? null : label.trim();
}

/** Accepts the same form as a request does: PostgreSQL would also accept `tomorrow`. */
function expiryOf({ expires_at = "" }: Target): string | null {
  if (expires_at.trim() === "") return null;
  const parsed = timestamp.safeParse(expires_at.trim());
  if (!parsed.success) {
    throw new InputError("Expires at takes a timestamp in UTC, such as 2027-01-31T09:30:00Z.");
  }
  if (Date.parse(parsed.data) <= Date.now()) {
    throw new InputError("Expires at must be in the future.");
  }
  return parsed.data;
}
