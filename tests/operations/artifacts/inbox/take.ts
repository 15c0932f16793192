import assert from "node:assert/strict";
import { TAGGED, WORKER } from "../../../bench/fill/cast.ts";
import { grant, publish } from "../../../conformance/artifacts.ts";
import { statesOf } from "../../../conformance/tasks/tasks.ts";
import { as, call } from "../../../database/plans/planned_call.ts";
import type { ArtifactsCard } from "../../card.ts";
import { castOfTwo } from "../arrangements.ts";

export const card: ArtifactsCard = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id }),
  valid: ({ reader }) => [
    {
      as: reader,
      body: { agent_id: reader.id, max: 2, seconds: 30, prefix: "no/", wait_seconds: 0 },
    },
  ],
  tool: { name: "take", hides: ["agent_id", "max"], effect: "renews" },
  afterRestore: "not listed: is repeated, or counts",
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const [owner, reader] = await castOfTwo();
        await grant(owner, await publish(owner), { to: reader });
        const holds = async () => assert.match((await statesOf(reader)).join(), /^taken [12]$/);
        return { request: { as: reader, body: { max: 2 } }, holds };
      },
    },
  ],
  plans: [
    call("take_tasks", { caller: as(WORKER), agent_id: null, max_entries: 10, seconds: 300 }, {
      circumstances: "beside very many that are done",
      bounds: { rows: 300, pages: 1_000 },
    }),
    call("take_tasks", { caller: as(TAGGED), agent_id: null, max_entries: 1, seconds: 300 }, {
      circumstances: "with 32 tags, the first time",
      bounds: { rows: 20_000, pages: 80_000 },
    }),
  ],
  lockWaits: [],
};
