import * as z from "zod";
import { defineOperation, type Operation, type Platform } from "../../operations/operation.ts";
import { enrolmentId } from "./fields.ts";

/** After this time, a call returns what remains. The platform ends requests after 150 seconds. */
const ENOUGH_MILLISECONDS = 20_000;

/** How many agents are ended in parallel. */
const AT_ONCE = 4;

const count = z.int().min(0);

const response = z.object({
  revoked: z.literal(true),
  agents: count.meta({
    description: "How many agents lost their agent keys in this call.",
    examples: [200],
  }),
  keys: count.meta({ description: "How many agent keys it ended.", examples: [204] }),
  peers: count.meta({ description: "How many peers it removed.", examples: [12] }),
  grants: count.meta({ description: "How many grants it ended.", examples: [0] }),
  remaining: count.meta({
    description: "How many agents are left for the next call. 0: everything has ended.",
    examples: [0],
  }),
});

interface Step {
  readonly agents: number;
  readonly keys: number;
  /** Agents that have no agent key any more, but may still have a peer, rules or grants. */
  readonly to_end: readonly string[];
  readonly remaining: number;
}

interface EndedAgent {
  readonly peer: boolean;
  readonly grants: number;
}

export function createOperation({ callDatabase }: Platform): Operation {
  return defineOperation({
    summary: "End an enrolment, and the agent keys, peers and rules of the agents it enrolled.",
    description:
      "The first call ends new enrolments. Repeat it until `remaining` is 0. A later revocation with " +
      "`undo_grants` ends the grants that an earlier one left.",
    tag: "Enrolment",
    callers: "the operator",
    effect: "replaces",
    identification: "required",
    // Only the operator's tasks call it.
    isUnlisted: true,
    request: z.strictObject({
      enrolment_id: enrolmentId,
      undo_grants: z.boolean().default(false)
        .meta({ description: "Also end the grants that these agents gave." }),
    }),
    response,
    errors: [],
    async handle({ input: { enrolment_id, undo_grants }, caller }) {
      const startedAt = performance.now();
      const total = { agents: 0, keys: 0, peers: 0, grants: 0 };
      let step: Step;
      do {
        // End agent keys first, of many agents per call: the keys give access.
        do {
          step = await callDatabase<Step>("revoke_enrolment", {
            caller,
            enrolment_id,
            undo_grants,
          });
          total.agents += step.agents;
          total.keys += step.keys;
        } while (step.agents > 0 && isEarly(startedAt));
        const left = [...step.to_end];
        const endSome = async () => {
          while (left.length > 0 && isEarly(startedAt)) {
            const agent_id = left.pop();
            const one = { caller, enrolment_id, agent_id, undo_grants };
            const ended = await callDatabase<EndedAgent>("end_enrolled_agent", one);
            total.peers += Number(ended.peer);
            total.grants += ended.grants;
          }
        };
        await Promise.all(Array.from({ length: AT_ONCE }, endSome));
        // `remaining` still counts the agents that have just ended, so ask again.
      } while (step.remaining > 0 && isEarly(startedAt));
      return { revoked: true as const, ...total, remaining: step.remaining };
    },
  });
}

function isEarly(startedAt: number): boolean {
  return performance.now() - startedAt < ENOUGH_MILLISECONDS;
}
