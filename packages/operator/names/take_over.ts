import { confirm, inCounts } from "../endings/confirmation.ts";
import { countMentions } from "../endings/erasing.ts";
import { callAsOperator } from "../operator_call.ts";

/** What `take_over_agent` ended in one call. */
interface TakenOver {
  readonly remaining: boolean;
}

/** Whose a name is, as `read_ways` tells it. */
export interface Ways {
  readonly agent_id: string;
  /** `operator`, `users`, or ids of enrolments. Null: the name is free. Empty: being taken over. */
  readonly ways: readonly string[] | null;
  readonly taken_at: string | null;
  readonly kept_out: "removed" | "erased" | null;
  readonly live_keys: readonly {
    readonly key_id: string;
    readonly enrolment_id: string | null;
    readonly expires_at: string | null;
  }[];
  readonly enrolments: readonly {
    readonly enrolment_id: string;
    readonly label: string | null;
    readonly kind: "key" | "trust";
    readonly by: string;
    readonly may_enter: boolean;
  }[];
  readonly users: boolean;
  readonly policy_lines: number;
}

export async function readWays(agent_id: string): Promise<Ways> {
  return await callAsOperator("read_ways", { agent_id }) as Ways;
}

/** The ways that a name belongs to, in words. */
export function waysInWords({ ways }: Pick<Ways, "ways">): string {
  if (ways === null) return "nobody yet";
  if (ways.length === 0) return "nobody: a take-over is not finished";
  return ways.map((way) =>
    way === "operator"
      ? "the operator"
      : way === "users"
      ? "the project's users"
      : `the enrolment ${way}`
  ).join(", ");
}

/**
 * Takes a name from its holder, in as many calls as that takes. It asks first, and can be stopped
 * and run again. Throws UsageError unless the answer is yes.
 */
export async function takeOver(agent_id: string, options: { readonly yes?: boolean | undefined }) {
  const held = await readWays(agent_id);
  if (held.ways === null || held.ways.join() === "operator") return;
  const { agent_keys, files, grants, peer, rules } = (await countMentions(agent_id)).mentions;
  const counts = { agent_keys, files, grants, peer, rules };
  const what = inCounts(
    Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, count ?? 0])),
  );
  await confirm(
    `This takes ${agent_id} from ${
      waysInWords(held)
    }, and ends ${what} (some may have ended already).`,
    options,
  );
  let step: TakenOver;
  do {
    step = await callAsOperator("take_over_agent", { agent_id }) as TakenOver;
  } while (step.remaining);
}
