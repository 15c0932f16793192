import { callFunctionAsOperator } from "../function_call.ts";

const COUNTS = ["agents", "keys", "peers", "grants"] as const;

type Counts = Record<typeof COUNTS[number], number>;

/** Revokes an enrolment, call by call, until nothing remains. Throws CommandError. */
export async function revokeWhole(
  request: { readonly enrolment_id: string; readonly undo_grants: boolean },
  onStep: (ended: Counts, remaining: number) => void = () => {},
): Promise<Counts> {
  const ended = { agents: 0, keys: 0, peers: 0, grants: 0 };
  let remaining: number;
  do {
    const step = await callFunctionAsOperator(
      "/agent-artifacts/enrolment/revoke",
      request,
    ) as Counts & { remaining: number };
    for (const count of COUNTS) ended[count] += step[count];
    ({ remaining } = step);
    if (remaining > 0) onStep(ended, remaining);
  } while (remaining > 0);
  return ended;
}
