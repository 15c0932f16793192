/**
 * Kills the processes of a pipeline at the requests that they send. `TASK_ROUNDS` is the number of
 * kills; 200 strike each process at every step, at every moment.
 */
import assert from "node:assert/strict";
import { chosenSeed, Random } from "../../seeds/random.ts";
import { WAYS } from "./killed_worker.ts";
import { Pipeline, type PlannedKill, ROLES } from "./pipeline.ts";
import { MOMENTS } from "./striking_proxy.ts";

/** Pipelines side by side, each with agents of its own, because processes take time to start. */
const LANES = 3;
const ROUNDS = Number(Deno.env.get("TASK_ROUNDS") ?? 12);

/** Different steps in each run, until all steps at all moments were struck. */
function plan(pipeline: Pipeline, random: Random): PlannedKill[] {
  const all = ROLES.flatMap((role) =>
    Array.from({ length: pipeline.stepsOf(role) }, (_, index) => ({ role, step: index + 1 }))
  ).flatMap((place) => MOMENTS.map((moment) => ({ ...place, moment })));
  let left: typeof all = [];
  return Array.from({ length: ROUNDS }, () => {
    if (left.length === 0) left = [...all];
    const [next] = left.splice(random.below(left.length), 1);
    return { ...next!, withPrograms: random.isOneIn(2) };
  });
}

for (const way of WAYS) {
  Deno.test(`planner, builder and reviewer by ${way}, ${ROUNDS} kills at their requests → each task is done once, each job comes back once`, async () => {
    const seed = chosenSeed();
    console.log(`SEED=${seed}`);
    const folder = await Deno.makeTempDir({ prefix: "pipeline-" });
    try {
      const lanes = await Promise.all(
        Array.from({ length: LANES }, () => Pipeline.start(way, folder)),
      );
      try {
        // Without a kill, to see the requests of a job.
        await Promise.all(lanes.map((lane) => lane.run(null)));
        const kills = plan(lanes[0]!, new Random(seed));
        const ends = await Promise.allSettled(lanes.map(async (lane) => {
          for (let kill = kills.shift(); kill !== undefined; kill = kills.shift()) {
            await lane.run(kill);
          }
        }));
        for (const end of ends) if (end.status === "rejected") throw end.reason;
        for (const lane of lanes) await lane.check();
        assert.equal(lanes.reduce((sum, { kills }) => sum + kills, 0), ROUNDS);
      } finally {
        for (const lane of lanes) await lane[Symbol.asyncDispose]();
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}
