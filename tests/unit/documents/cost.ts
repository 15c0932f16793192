/** The prices and formulas of docs/cost.md, as a program. */

/**
 * Prices in dollars and what the Pro plan includes: the platform's documentation, November 2026.
 */
const PRICES = {
  millionInvocations: 2,
  includedInvocations: 2_000_000,
  computeCredit: 10,
  gigabyteOfDisk: 0.125,
  includedDisk: 8,
  gigabyteOfEgress: 0.09,
  includedEgress: 250,
  gigabyteOfLogs: 0.5,
  includedLogs: 5,
};
/** The smallest sufficient compute and its monthly price, by the largest number of agents. */
const COMPUTE: readonly (readonly [agents: number, name: string, dollars: number])[] = [
  [1000, "Micro", 10],
  [10_000, "Medium", 60],
];
const HOURS = 720;
const WORKER_SECONDS = 400;
const WAIT_SECONDS = 140;
const BYTES_OF_ANSWER = 700;
/** One row of usage counts per agent and day. */
const BYTES_OF_DAY = 150;
const DAYS_KEPT = 400;
const LOG_ENTRIES_OF_WAIT = 4;
const BYTES_OF_LOG_ENTRY = 1000;
/** Waits that one worker holds at a time; it could hold more. */
const WAITS_OF_WORKER = 500;

export const AGENTS = [10, 200, 1000, 10_000] as const;

/** A wait ends early when its worker ends, so the number of waits per worker is rounded up. */
export const REQUESTS_PER_HOUR = 3600 / WORKER_SECONDS * Math.ceil(WORKER_SECONDS / WAIT_SECONDS);

export interface Cost {
  readonly agents: number;
  readonly invocations: number;
  readonly invocationDollars: number;
  readonly compute: string;
  readonly computeDollars: number;
  readonly diskGigabytes: number;
  readonly diskDollars: number;
  readonly egressGigabytes: number;
  readonly egressDollars: number;
  /** In addition to the plan's price. */
  readonly dollars: number;
  readonly logGigabytes: number;
  readonly logDollars: number;
}

/** What agents that only wait cost in 30 days, in addition to the plan's price. */
export function costOf(agents: number, requestsPerHour: number = REQUESTS_PER_HOUR): Cost {
  const invocations = agents * requestsPerHour * HOURS;
  const packages = Math.ceil(Math.max(0, invocations - PRICES.includedInvocations) / 1e6);
  const invocationDollars = packages * PRICES.millionInvocations;
  const [, compute, price] = COMPUTE.find(([most]) => agents <= most)!;
  const computeDollars = Math.max(0, price - PRICES.computeCredit);
  const diskGigabytes = agents * DAYS_KEPT * BYTES_OF_DAY / 1e9;
  const diskDollars = Math.max(0, diskGigabytes - PRICES.includedDisk) * PRICES.gigabyteOfDisk;
  const egressGigabytes = invocations * BYTES_OF_ANSWER / 1e9;
  const egressDollars = Math.max(0, egressGigabytes - PRICES.includedEgress) *
    PRICES.gigabyteOfEgress;
  const polls = Math.ceil(agents / WAITS_OF_WORKER) * 3600 * HOURS;
  const entries = invocations * LOG_ENTRIES_OF_WAIT + polls;
  const logGigabytes = entries * BYTES_OF_LOG_ENTRY / 1e9;
  return {
    agents,
    invocations,
    invocationDollars,
    compute,
    computeDollars,
    diskGigabytes,
    diskDollars,
    egressGigabytes,
    egressDollars,
    logGigabytes,
    dollars: invocationDollars + computeDollars + diskDollars + egressDollars,
    logDollars: Math.max(0, logGigabytes - PRICES.includedLogs) * PRICES.gigabyteOfLogs,
  };
}
