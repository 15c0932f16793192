import { callAsOperator } from "../operator_call.ts";
import type { Enrolment } from "./enrolment.ts";

/** What the agents of an enrolment use of its limits. */
export interface Use {
  /** How many have not ended, up to 100,000. */
  readonly agents: number;
  readonly held_bytes: number;
}

/** Each enrolment may have very many agents, which the call counts. */
const MOST_AT_ONCE = 50;

/** Adds to each enrolment what its agents use. Throws CommandError. */
export async function* withUse(
  enrolments: AsyncIterable<Enrolment>,
): AsyncGenerator<Enrolment & Use> {
  let some: Enrolment[] = [];
  for await (const enrolment of enrolments) {
    some.push(enrolment);
    if (some.length < MOST_AT_ONCE) continue;
    yield* await countUse(some);
    some = [];
  }
  if (some.length > 0) yield* await countUse(some);
}

async function countUse(enrolments: readonly Enrolment[]): Promise<(Enrolment & Use)[]> {
  const uses = await callAsOperator("count_use_of_enrolments", {
    enrolment_ids: enrolments.map(({ enrolment_id }) => enrolment_id),
  }) as Readonly<Record<string, Use>>;
  return enrolments.map((enrolment) => ({ ...enrolment, ...uses[enrolment.enrolment_id]! }));
}
