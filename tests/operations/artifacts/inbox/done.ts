import assert from "node:assert/strict";
import { takenIdOf, WORKER } from "../../../bench/fill/cast.ts";
import { statesOf } from "../../../conformance/tasks/tasks.ts";
import { as, call } from "../../../database/plans/planned_call.ts";
import type { ArtifactsCard } from "../../card.ts";
import { arrangeTaken, takenBy } from "../tasks.ts";
import { inbox } from "../../../conformance/artifacts.ts";

export const card: ArtifactsCard = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id, grant_id: `grant_${"0".repeat(32)}` }),
  valid: async (cast) => {
    const { take_id } = await takenBy(cast);
    return [{ as: cast.reader, body: { take_id } }];
  },
  tool: { name: "done", effect: "sets" },
  afterRestore: "listed",
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const { owner, reader, take_id, built } = await arrangeTaken();
        const holds = async () => {
          assert.deepEqual(await statesOf(reader), ["done 1"]);
          assert.equal((await inbox(owner)).length, 1);
        };
        return {
          request: { as: reader, body: { take_id, reply: { artifact_id: built.artifact_id } } },
          holds,
        };
      },
    },
  ],
  plans: [
    call("finish_task", {
      caller: as(WORKER),
      agent_id: null,
      take_id: takenIdOf(3),
      grant_id: null,
    }),
  ],
  lockWaits: [],
};
