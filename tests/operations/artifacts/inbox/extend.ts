import assert from "node:assert/strict";
import { takenIdOf, WORKER } from "../../../bench/fill/cast.ts";
import { statesOf } from "../../../conformance/tasks/tasks.ts";
import { as, call } from "../../../database/plans/planned_call.ts";
import type { ArtifactsCard } from "../../card.ts";
import { arrangeTaken, takenBy } from "../tasks.ts";

export const card: ArtifactsCard = {
  document: "described",
  asks: () => ({ take_id: "nothing", seconds: 30 }),
  valid: async (cast) => {
    const { take_id } = await takenBy(cast);
    return [{ as: cast.reader, body: { take_id, seconds: 30 } }];
  },
  tool: "none: for programs",
  afterRestore: "not listed: is repeated, or counts",
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const { reader, take_id } = await arrangeTaken();
        const holds = async () => assert.deepEqual(await statesOf(reader), ["taken 1"]);
        return { request: { as: reader, body: { take_id, seconds: 60 } }, holds };
      },
    },
  ],
  plans: [
    call("extend_take", { caller: as(WORKER), take_id: takenIdOf(1), seconds: 300 }),
  ],
  lockWaits: [],
};
