import { callAsOperator } from "../operator_call.ts";
import type { OpenWriter } from "../reads/held_log.ts";

/** How often an agent is named, by place. The larger counts stop at 10,000. */
export type Mentions = Readonly<Record<string, number>>;

interface Counted {
  readonly mentions: Mentions;
  /**
   * Live enrolments that name the agent in what decides who enrols. An erasure does not change
   * them.
   */
  readonly deciding_enrolments: readonly string[];
  /** Every transaction below this one has ended. */
  readonly settled_before: string;
  /** The oldest transactions that have not. */
  readonly open_writers: readonly OpenWriter[];
}

interface Step {
  readonly pseudonym: string;
  readonly events: number;
  readonly remaining: boolean;
  readonly ended_before: string;
}

export interface Receipt {
  readonly pseudonym: string;
  /** What named the agent before the erasure. */
  readonly erased: Mentions;
  /** What still names the agent. */
  readonly left: Mentions;
  /** Live enrolments that still name the agent in what decides who enrols. */
  readonly deciding_enrolments: readonly string[];
  /** Whether nothing is left, not even in transactions that were open during the erasure. */
  readonly complete: boolean;
  /** The open transactions that kept the erasure from its end; empty if none did. */
  readonly held_by: readonly OpenWriter[];
  readonly events: { readonly altered: number; readonly in_order: boolean };
}

/** How long to wait for other open transactions. None of this project's own lasts longer. */
const PATIENCE_MILLISECONDS = 20_000;
const PAUSE_MILLISECONDS = 100;

/** Calls an SQL function as the operator. */
export type Call = typeof callAsOperator;

export async function countMentions(
  agent_id: string,
  call: Call = callAsOperator,
): Promise<Counted> {
  return await call("count_mentions", { agent_id }) as Counted;
}

export function sumOf(mentions: Mentions): number {
  return Object.values(mentions).reduce((sum, count) => sum + count, 0);
}

/** Erases an agent, in as many steps as that takes. It can be stopped and run again. */
export async function eraseAgent(agent_id: string, call: Call = callAsOperator): Promise<Receipt> {
  const before = await countMentions(agent_id, call);
  let pseudonym: string | null = null;
  let step: Step;
  let idleSince = Date.now();
  do {
    step = await call("erase_agent", { agent_id, pseudonym }) as Step;
    pseudonym = step.pseudonym;
    // The newest events can be read only after every transaction that began before them has ended.
    if (step.events > 0) idleSince = Date.now();
    else if (step.remaining) await pause();
  } while (step.remaining && Date.now() - idleSince < PATIENCE_MILLISECONDS);
  const { isSettled, mentions, deciding_enrolments, open_writers } = await mentionsAfter(
    step.ended_before,
    // What has been waited for already is not waited for twice.
    step.remaining ? 0 : PATIENCE_MILLISECONDS,
    () => countMentions(agent_id, call),
  );
  const { altered, holds } = await call("check_erasure", { pseudonym }) as {
    altered: number;
    holds: boolean;
  };
  return {
    pseudonym,
    erased: before.mentions,
    left: mentions,
    deciding_enrolments,
    complete: !step.remaining && isSettled && sumOf(mentions) === 0 &&
      deciding_enrolments.length === 0,
    held_by: isSettled ? [] : open_writers,
    events: { altered, in_order: holds || altered === 0 },
  };
}

/** What still names the agent after the transactions that ran during the last step have ended. */
async function mentionsAfter(
  transaction: string,
  patience: number,
  count: () => Promise<Counted>,
) {
  for (const startedAt = Date.now();;) {
    const counted = await count();
    const isSettled = BigInt(counted.settled_before) >= BigInt(transaction);
    if (isSettled || Date.now() - startedAt > patience) {
      return { ...counted, isSettled };
    }
    await pause();
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, PAUSE_MILLISECONDS));
}
