import { callFunctionAsOperator } from "../../function_call.ts";
import { CommandError } from "../../../command/command_error.ts";
import type { Action } from "./action.ts";
import { readKnownAgent } from "./agent.ts";

/** Replaces the PSK of a pair. */
export const rotatePsk: Action = {
  takes: ["a", "b"],
  async plan({ a = "", b = "" }) {
    for (const agent of await Promise.all([readKnownAgent(a), readKnownAgent(b)])) {
      if (!agent.has_peer) throw new CommandError(`${agent.agent_id} has no peer, and so no PSK.`);
    }
    return {
      title: `Rotate the PSK of ${a} and ${b}`,
      effects: [
        "The pair gets a new PSK, and both hosts get a new configuration.",
        "Until both have applied it, the tunnel between them may pause.",
      ],
      undo: "It cannot be undone: the earlier PSK is gone.",
      verb: "Rotate the PSK",
      isDangerous: true,
    };
  },
  async run({ a = "", b = "" }) {
    const { psk_version } = await callFunctionAsOperator("/agent-mesh/psk/rotate", { a, b }) as {
      psk_version: number;
    };
    return {
      done: [
        `The PSK of ${a} and ${b} is version ${psk_version}. Each host makes or fetches it with its next configuration.`,
      ],
    };
  },
};
