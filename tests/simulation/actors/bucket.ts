import type { Move } from "../registry.ts";
import { keepNoVersions, keepVersions } from "../storage/versions.ts";
import { sweep } from "./operator.ts";

export const BUCKET_MOVES: readonly Move[] = [
  {
    name: "the bucket keeps versions for a while",
    weight: 1,
    async play(turn) {
      const { world, known } = turn;
      if (world.isClosed || known.bucket.keepsVersions) return;
      turn.say("the bucket keeps versions");
      keepVersions(world);
      const period = { from: known.nextPlace(), until: Infinity };
      known.bucket.periods.push(period);
      for (const pause of [1_000, 600_000]) {
        await sweep(turn);
        await turn.sleep(pause);
      }
      turn.say("the bucket keeps no versions any more");
      period.until = known.nextPlace();
      keepNoVersions(world);
    },
  },
];
