import { Random } from "../seeds/random.ts";
import {
  awaitNothingLeft,
  launch,
  openStateDirectory,
  readEnvironment,
  runTask,
} from "../../packages/local/tests/stack/stack_process.ts";
import type { Client } from "./clients/client.ts";
import { assembleFleet } from "./fleet.ts";
import type { Entry } from "./history.ts";
import { killInTurn, queryOnce, type Target } from "./kills.ts";
import { startReceivers } from "./receiver.ts";
import { Recorder } from "./recorder.ts";
import { settleDeliveries } from "./settle_deliveries.ts";

/** Pauses keep the clients from only competing for the processor. */
const MOST_PAUSE_MILLISECONDS = 100;
const MILLISECONDS_BETWEEN_KILLS = 5_000;

export interface Run {
  readonly history: readonly Entry[];
  /** How often each part was killed. */
  readonly kills: ReadonlyMap<string, number>;
  /** The output of `agentops fsck` at the end; empty if it found no contradiction. */
  readonly contradictions: string;
}

/**
 * Runs a stack of its own for `seconds`, with clients that send requests all the time and parts
 * that are killed. Then every client reads the final state. The seed determines the actions of each
 * client and the order of the kills. It cannot reproduce the interleaving of different clients'
 * requests.
 */
export async function runHistory(
  { seed, seconds }: { readonly seed: number; readonly seconds: number },
): Promise<Run> {
  const random = new Random(seed);
  await using state = await openStateDirectory();
  const toReceivers = { WEBHOOKS_ALLOW_HTTP: "true", WEBHOOK_HOSTS: "127.0.0.1" };
  const service = await launch({ stateDir: state.path, environment: toReceivers });
  await service.ready();
  const environment = await readEnvironment(state.path);
  const target: Target = { stateDir: state.path, environment: toReceivers, service };
  const recorder = new Recorder(service.url);
  await using receivers = startReceivers(recorder, random.fork());
  try {
    await leaveDeliveriesToClients(target);
    const secretKey = environment["SUPABASE_SECRET_KEY"]!;
    const clients = await assembleFleet({
      url: service.url,
      secretKey,
      recorder,
      receivers,
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
    const operator = { headers: { apikey: secretKey } };
    await settleDeliveries(target, { recorder, operator });
    // Read three times. For a pair, a value that only one side sees then lies between two readings
    // of the other side.
    for (const _ of ["first", "second", "third"]) {
      await Promise.all(clients.map((client) => client.look()));
    }
    const { output, errors } = await runTask("agentops fsck", { environment });
    return { history: recorder.history, kills, contradictions: output + errors };
  } finally {
    target.service.kill("SIGTERM");
    await target.service.exit();
    await awaitNothingLeft({ stateDir: state.path, port: service.port });
  }
}

/**
 * Nobody is told of events, so nothing is sent but by the calls of the clients. Otherwise, several
 * calls would look for deliveries all the time, and the other clients would get less done.
 */
async function leaveDeliveriesToClients(target: Target): Promise<void> {
  await queryOnce(
    target,
    (sql) => sql`update agents.webhook_kicks set kicked_at = 'infinity' where only_row`,
  );
}

async function actUntil(isOver: () => boolean, client: Client, pauses: Random): Promise<void> {
  while (!isOver()) {
    await client.act();
    await new Promise((resolve) => setTimeout(resolve, pauses.below(MOST_PAUSE_MILLISECONDS)));
  }
}
