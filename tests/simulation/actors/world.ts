import type { Move } from "../registry.ts";

const MINUTE = 60_000;

/** What happens to a deployment without anybody's asking. */
export const WORLD_MOVES: readonly Move[] = [
  {
    name: "a process of a function dies",
    weight: 3,
    play(turn) {
      const instance = turn.world.instanceOf("agent-artifacts");
      turn.say(`${instance.name} dies`);
      instance.kill();
      return Promise.resolve();
    },
  },
  {
    name: "a clock jumps",
    weight: 1,
    play(turn) {
      const clock = turn.random.pick(["functions", "database"] as const);
      const minutes = turn.random.pick([-90, -5, 5, 90]);
      turn.say(`the clock of the ${clock} jumps ${minutes} minutes`);
      turn.known.hasDatabaseGoneBack ||= clock === "database" && minutes < 0;
      turn.known.hasDatabaseJumped ||= clock === "database";
      turn.world.clockErrors[clock] += minutes * MINUTE;
      return Promise.resolve();
    },
  },
  {
    name: "Storage loses bytes",
    weight: 0.5,
    play(turn) {
      const { world, known } = turn;
      const artifact = turn.pick(known.artifacts);
      if (artifact === null) return Promise.resolve();
      turn.say(`Storage loses the bytes of ${artifact.name}`);
      artifact.isLost = true;
      const rows = world.database.query(
        "select version from storage.objects where split_part(name, '/', 2) = $1",
        [artifact.id],
      );
      for (const { version } of rows) world.bytes.lose(version!);
      return Promise.resolve();
    },
  },
];
