import * as z from "zod";
import { defineOperation, type Operation, type Platform } from "../operations/operation.ts";
import { enrolmentId } from "./fields.ts";

/** After this long, a call answers with what remains: the platform ends requests of 150 seconds. */
const ENOUGH_MILLISECONDS = 20_000;

/** How many agents are ended side by side. */
const AT_ONCE = 4;

const count = z.int().min(0);

const response = z.object({
  revoked: z.literal(true),
  agents: count.meta({ description: "Whose keys this call ended.", examples: [200] }),
  keys: count.meta({ description: "The agent keys that it ended.", examples: [204] }),
  peers: count.meta({ description: "The peers that it removed.", examples: [12] }),
  grants: count.meta({ description: "The grants that it ended.", examples: [0] }),
  remaining: count.meta({
    description: "The agents that are left for the next call. 0: everything has ended.",
    examples: [0],
  }),
});

interface Step {
  readonly agents: number;
  readonly keys: number;
  /** The agents without a key of which something may be left. */
  readonly to_end: readonly string[];
  readonly remaining: number;
}

interface EndedAgent {
  readonly peer: boolean;
  readonly grants: number;
}

export function createOperation({ callDatabase }: Platform): Operation {
  return defineOperation({
    summary: "End an enrolment, and every agent that came by it: keys, peers and rules.",
    description: "The first call ends new enrolments. Repeat it until `remaining` is 0.",
    tag: "Enrolment",
    callers: "the operator",
    effect: "replaces",
    identification: "required",
    // The operator's tasks ask it.
    isUnlisted: true,
    request: z.object({
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
        // Keys first, of many agents at once: they are what gives access.
        do {
          step = await callDatabase<Step>("revoke_enrolment", { caller, enrolment_id });
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
        // The next step no longer counts what has just ended.
      } while (step.remaining > 0 && isEarly(startedAt));
      return { revoked: true as const, ...total, remaining: step.remaining };
    },
  });
}

function isEarly(startedAt: number): boolean {
  return performance.now() - startedAt < ENOUGH_MILLISECONDS;
}
