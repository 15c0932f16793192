/**
 * Kills the processes of a pipeline at the requests that they send. `TASK_ROUNDS` is the number of
 * kills; 200 strike each process at every step, at every moment.
 */
import assert from "node:assert/strict";
import { chosenSeed, Random } from "../../seeds/random.ts";
import { VICTIMS, type Way, WAYS } from "./killed_worker.ts";
import { Pipeline, type PlannedKill, ROLES } from "./pipeline.ts";
import { MOMENTS } from "./striking_proxy.ts";

/** Pipelines side by side, each with agents of its own, because processes take time to start. */
const LANES = 3;
/** Processes of MCP take longer to start. */
const USUAL_ROUNDS: Readonly<Record<Way, number>> = {
  "files.tasks()": 12,
  "agentfiles work --exec": 12,
  "agentfiles mcp": 6,
  "the tools of /mcp": 6,
};

/** Different steps in each run, until all steps at all moments were struck. */
function plan(
  pipeline: Pipeline,
  { way, rounds, random }: {
    readonly way: Way;
    readonly rounds: number;
    readonly random: Random;
  },
): PlannedKill[] {
  const all = ROLES.flatMap((role) =>
    Array.from({ length: pipeline.stepsOf(role) }, (_, index) => ({ role, step: index + 1 }))
  ).flatMap((place) => MOMENTS.map((moment) => ({ ...place, moment })));
  let left: typeof all = [];
  return Array.from({ length: rounds }, () => {
    if (left.length === 0) left = [...all];
    const [next] = left.splice(random.below(left.length), 1);
    return { ...next!, victims: random.pick(VICTIMS[way]) };
  });
}

for (const way of WAYS) {
  const rounds = Number(Deno.env.get("TASK_ROUNDS") ?? USUAL_ROUNDS[way]);
  Deno.test(`planner, builder and reviewer by ${way}, ${rounds} kills at their requests → each task is done once, each job comes back once`, async () => {
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
        const kills = plan(lanes[0]!, { way, rounds, random: new Random(seed) });
        const ends = await Promise.allSettled(lanes.map(async (lane) => {
          for (let kill = kills.shift(); kill !== undefined; kill = kills.shift()) {
            await lane.run(kill);
          }
        }));
        for (const end of ends) if (end.status === "rejected") throw end.reason;
        for (const lane of lanes) await lane.check();
        assert.equal(lanes.reduce((sum, { kills }) => sum + kills, 0), rounds);
      } finally {
        for (const lane of lanes) await lane[Symbol.asyncDispose]();
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}
