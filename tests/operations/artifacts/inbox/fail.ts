import assert from "node:assert/strict";
import { takenIdOf, WORKER } from "../../../bench/fill/cast.ts";
import { statesOf } from "../../../conformance/tasks/tasks.ts";
import { as, call } from "../../../database/plans/planned_call.ts";
import type { ArtifactsCard } from "../../card.ts";
import { arrangeTaken, takenBy } from "../tasks.ts";

export const card: ArtifactsCard = {
  document: "described",
  asks: () => ({ take_id: "nothing", reason: "No." }),
  valid: async (cast) => {
    const { take_id } = await takenBy(cast);
    return [{
      as: cast.reader,
      body: { take_id, reason: "No.", retry_after_seconds: 0, final: true },
    }];
  },
  tool: { name: "fail", hides: ["interrupted"], effect: "replaces" },
  afterRestore: "listed",
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const { reader, take_id } = await arrangeTaken();
        const holds = async () => assert.deepEqual(await statesOf(reader), ["waiting 1"]);
        return { request: { as: reader, body: { take_id, reason: "No roof." } }, holds };
      },
    },
  ],
  plans: [
    call("fail_task", {
      caller: as(WORKER),
      take_id: takenIdOf(2),
      reason: "No.",
      is_interrupted: true,
    }),
  ],
  lockWaits: [],
};
