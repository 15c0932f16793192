/** How the sandbox peer and a CUBIC flow share one bottleneck. */
import type { Runtime } from "../../tunnel/hosts/bundled_program.ts";
import { Scene } from "../../tunnel/tcp/scene.ts";
import { median } from "../load/timing.ts";

const MBITS = 20;

/** The least share of the total throughput that either flow may get. */
export const LEAST_SHARE = 0.25;

export interface FairnessFigure {
  readonly runtime: Runtime;
  readonly roundTripMs: number;
  /** The queue of the bottleneck, as a multiple of rate × round trip. */
  readonly queue: number;
  /** Mbit/s. */
  readonly sandbox: number;
  readonly cubic: number;
  /** The sandbox peer's share: the median of the turns. */
  readonly share: number;
}

export const BOTTLENECKS = [20, 80].flatMap((roundTripMs) =>
  [0.5, 1, 2].map((queue) => ({ roundTripMs, queue }))
);

export async function measureFairness(
  { runtime, roundTripMs, queue, turns, seconds }: {
    readonly runtime: Runtime;
    readonly roundTripMs: number;
    readonly queue: number;
    readonly turns: number;
    readonly seconds: number;
  },
): Promise<FairnessFigure> {
  const queueBytes = queue * MBITS * 1e6 / 8 * roundTripMs / 1000;
  const path = { roundTripMs, bottleneck: { mbits: MBITS, queueBytes } };
  await using scene = await Scene.start({
    sandbox: runtime,
    hasOther: true,
    path,
    congestion: "cubic",
  });
  const from = [scene.sandbox!.inner.ipv4, scene.other!.inner.ipv4];
  const pairs: (readonly [number, number])[] = [];
  for (let turn = 0; turn < turns; turn++) {
    const { bitsPerSecond: [sandbox, cubic] } = await scene.kernel.tell<
      { bitsPerSecond: [number, number] }
    >({ do: "stream", seconds, from });
    pairs.push([sandbox / 1e6, cubic / 1e6]);
  }
  return {
    runtime,
    roundTripMs,
    queue,
    sandbox: median(pairs.map(([sandbox]) => sandbox)),
    cubic: median(pairs.map(([, cubic]) => cubic)),
    share: median(pairs.map(([sandbox, cubic]) => sandbox / (sandbox + cubic))),
  };
}
