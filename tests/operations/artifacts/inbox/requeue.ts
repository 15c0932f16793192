import assert from "node:assert/strict";
import { endedGrantIdOf, HOARDER } from "../../../bench/fill/cast.ts";
import { statesOf } from "../../../conformance/tasks/tasks.ts";
import { as, call } from "../../../database/plans/planned_call.ts";
import type { ArtifactsCard } from "../../card.ts";
import { arrangeTaken, takenBy } from "../tasks.ts";

export const card: ArtifactsCard = {
  document: "described",
  asks: () => ({ grant_id: "nothing" }),
  valid: async (cast) => {
    const { grant_id } = await takenBy(cast);
    return [{ as: cast.agent, body: { grant_id } }];
  },
  tool: "none: for programs",
  afterRestore: "listed",
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const { owner, reader, grant_id } = await arrangeTaken();
        const holds = async () => assert.deepEqual(await statesOf(reader), ["taken 1"]);
        return { request: { as: owner, body: { grant_id } }, holds };
      },
    },
  ],
  plans: [
    call("requeue_task", { caller: as(HOARDER), grant_id: endedGrantIdOf(1) }, { refused: true }),
  ],
  lockWaits: [],
};
