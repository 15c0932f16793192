/** The goals of the service, compared with what was measured. */
import type { Bytes } from "../parts/bytes.ts";
import type { Growth } from "../parts/growth.ts";
import type { LargeMaps } from "../parts/maps.ts";
import { MAX_STANDING_RATIO, type StandingCost } from "../parts/standing.ts";
import { MAX_DONE_RATIO, type TakeCost } from "../parts/tasks.ts";
import type { Throughput } from "../parts/throughput.ts";
import { MAX_P99_MILLISECONDS, type WaitingTimes } from "../parts/waiting.ts";

/** All that a run has measured. */
export interface Measurements {
  readonly throughput: readonly Throughput[];
  readonly growth: readonly Growth[];
  readonly maps: LargeMaps;
  readonly bytes: Bytes;
  readonly waiting: readonly WaitingTimes[];
  readonly standing: StandingCost;
  readonly tasks: TakeCost;
}

export interface Goal {
  readonly what: string;
  readonly goal: string;
  readonly figure: string;
  readonly met: boolean;
}

const MAX_GROWTH = 1.3;
/** The least share of the bare function's throughput, with 16 clients. */
const MIN_OF_FLOOR: Readonly<Record<string, number>> = {
  "/peer/heartbeat": 0.85,
  "/grant": 0.85,
  "/revoke": 0.85,
  "/fetch": 0.85,
  "/open": 0.85,
  "/delete": 0.85,
  "/inbox of 50": 0.85,
  "/acl/put": 0.85,
  "/list of 100": 0.6,
};
const MAX_SWEEP_MILLISECONDS = 200;

export function goalsOf(
  { throughput, growth, maps, bytes, waiting, standing, tasks }: Measurements,
): Goal[] {
  const sweep = growth.find(({ operation }) => operation.startsWith("/sweep"))!;
  return [
    ...growth.map(({ operation, ratio }) =>
      atMost(`${operation}, large by small`, ratio, MAX_GROWTH)
    ),
    atMost("a call of /sweep in the large stack", sweep.large, MAX_SWEEP_MILLISECONDS, "ms"),
    atMost("/netmap of 5,000 visible peers", maps.netmap, 60, "ms"),
    atMost("/wg_config of 1,000 peers and 5,000 rules", maps.configuration, 80, "ms"),
    atMost("the first one, with 1,000 PSKs to make", maps.firstConfiguration, 200, "ms"),
    ...throughput
      .filter(({ operation, clients }) => clients === 16 && operation in MIN_OF_FLOOR)
      .map(({ operation, ofFloor }) =>
        atLeast(
          `${operation}, 16 clients by the floor`,
          ofFloor!,
          MIN_OF_FLOOR[operation]!,
        )
      ),
    atMost(`/commit of ${bytes.mebibytes} MiB by its download`, bytes.ofDownload, 1),
    atMost("CPU of the function for it", bytes.commitCpu, 130, "ms"),
    atMost("/commit of 1 KiB by /open", bytes.smallCommitOfOpen, 2),
    atMost("/commit with 1,000 standing grants by /commit", standing.ratio, MAX_STANDING_RATIO),
    atMost("/inbox/take beside 1,000,000 done tasks by beside none", tasks.ratio, MAX_DONE_RATIO),
    // The contract's promise, with 500 waiters.
    ...waiting.map(({ what, p99 }) => atMost(`told p99: ${what}`, p99, MAX_P99_MILLISECONDS, "ms")),
  ];
}

function atMost(what: string, figure: number, limit: number, unit = ""): Goal {
  return {
    what,
    goal: `≤ ${limit} ${unit}`.trim(),
    ...figureOf(figure, unit),
    met: figure <= limit,
  };
}

function atLeast(what: string, figure: number, limit: number): Goal {
  return { what, goal: `≥ ${limit}`, ...figureOf(figure, ""), met: figure >= limit };
}

function figureOf(figure: number, unit: string): { figure: string } {
  return { figure: `${figure.toFixed(unit === "ms" ? 0 : 2)} ${unit}`.trim() };
}
