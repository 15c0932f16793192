import { Random } from "../seeds/random.ts";
import {
  awaitNothingLeft,
  launch,
  openStateDirectory,
  readEnvironment,
  runTask,
} from "../stack/stack_process.ts";
import type { Client } from "./clients/client.ts";
import { assembleFleet } from "./fleet.ts";
import type { Entry } from "./history.ts";
import { killInTurn, type Target } from "./kills.ts";
import { Recorder } from "./recorder.ts";

/** So that clients do not only wait for each other's turn on the processor. */
const MOST_PAUSE_MILLISECONDS = 100;
const MILLISECONDS_BETWEEN_KILLS = 5_000;

export interface Run {
  readonly history: readonly Entry[];
  /** By what was killed, how often. */
  readonly kills: ReadonlyMap<string, number>;
  /** What `deno task fsck` says in the end; nothing where all is well. */
  readonly contradictions: string;
}

/**
 * Runs a stack of its own for `seconds`, with clients that never rest and parts that die, then lets
 * everybody look at what is left. The seed decides what each client does and what is killed. What
 * it cannot repeat is how the requests of different clients fall together.
 */
export async function runHistory(
  { seed, seconds }: { readonly seed: number; readonly seconds: number },
): Promise<Run> {
  const random = new Random(seed);
  await using state = await openStateDirectory();
  const service = await launch({ stateDir: state.path });
  await service.ready();
  const environment = await readEnvironment(state.path);
  const target: Target = { stateDir: state.path, service };
  try {
    const recorder = new Recorder(service.url);
    const clients = await assembleFleet({
      url: service.url,
      secretKey: environment["SUPABASE_SECRET_KEY"]!,
      recorder,
      random,
    });
    const end = performance.now() + seconds * 1000;
    const isOver = () => performance.now() > end;
    const pauses = random.fork();
    const [kills] = await Promise.all([
      killInTurn(target, {
        random: random.fork(),
        isOver,
        pauseMilliseconds: MILLISECONDS_BETWEEN_KILLS,
      }),
      ...clients.map((client) => actUntil(isOver, client, pauses.fork())),
    ]);
    // Three times, so that what only one side of a pair sees lies between two looks of the other.
    for (const _ of ["first", "second", "third"]) {
      await Promise.all(clients.map((client) => client.look()));
    }
    const { output, errors } = await runTask("operator/fsck.ts", { environment });
    return { history: recorder.history, kills, contradictions: output + errors };
  } finally {
    target.service.kill("SIGTERM");
    await target.service.exit();
    await awaitNothingLeft({ stateDir: state.path, port: service.port });
  }
}

async function actUntil(isOver: () => boolean, client: Client, pauses: Random): Promise<void> {
  while (!isOver()) {
    await client.act();
    await new Promise((resolve) => setTimeout(resolve, pauses.below(MOST_PAUSE_MILLISECONDS)));
  }
}
