/**
 * One history of a mesh of sandbox peers: their WireGuard, their paths and their TCP/IP, over a
 * simulated network. The seed decides everything, so the same seed has the same history.
 */
import { Random } from "../../../../tests/seeds/random.ts";
import { simulateGlobals } from "./clock/globals.ts";
import { Timeline } from "./clock/timeline.ts";
import { act } from "./history/act.ts";
import { Findings } from "./history/findings.ts";
import { planOf, SHORTLY, type Timed } from "./history/plan.ts";
import { judgeEnd } from "./history/judge_end.ts";
import { World } from "./history/world.ts";

export interface SimulationOptions {
  readonly seed: number;
  /** The numbers of the decisions to keep, from 1. Default: all. */
  readonly only?: readonly number[] | null;
}

export interface Simulation {
  /** What must not happen, and did. */
  readonly findings: readonly string[];
  readonly transcript: readonly string[];
  readonly decisions: number;
  readonly datagrams: number;
  readonly steps: number;
}

/** After the last decision, in milliseconds: everything is whole again, and nothing happens. */
const CALM = 70_000;
/** How long what goes on then may take to end: the longest pause of TCP is a minute. */
const SETTLING = 75_000;

export async function simulate({ seed, only = null }: SimulationOptions): Promise<Simulation> {
  const random = new Random(seed);
  const timeline = new Timeline();
  const restore = simulateGlobals(timeline, random.fork());
  const findings = new Findings(timeline);
  const onRejection = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    findings.complain(`an error that nobody handles: ${event.reason?.stack ?? event.reason}`);
  };
  globalThis.addEventListener("unhandledrejection", onRejection);
  try {
    const plan = planOf(seed);
    const world = new World(plan, { timeline, random, findings });
    world.start();
    let end = 0;
    for (const [index, decision] of plan.decisions.entries()) {
      if (only !== null && !only.includes(index + 1)) continue;
      const { during } = decision;
      if (during !== null) timeline.at(decision.at - SHORTLY, () => world.open(during));
      timeline.at(decision.at, () => {
        const number = `#${index + 1}`;
        findings.note(`${number.padEnd(3)} ${act(world, decision, index)}`);
      });
      end = Math.max(end, endOf(decision));
    }
    do await timeline.runUntil(end += 1000); while (world.disturbances.active > 0);
    await judgeEnd(world, { calm: CALM, settling: SETTLING });
    findings.note(
      `the digest of ${world.internet.datagrams} datagrams: ${world.internet.digest()}`,
    );
    return {
      findings: findings.complaints,
      transcript: findings.lines,
      decisions: plan.decisions.length,
      datagrams: world.internet.datagrams,
      steps: timeline.steps,
    };
  } finally {
    restore();
    globalThis.removeEventListener("unhandledrejection", onRejection);
  }
}

function endOf(decision: Timed): number {
  return decision.at + ("for" in decision ? decision.for : 0) + 1;
}
