import type { Output } from "../../command/terminal/output.ts";
import { callAsOperator } from "../operator_call.ts";
import { rowsOf } from "../pages.ts";

/** Few, because counting what an agent holds reads all of its rows. */
const AGENTS_COUNTED_AT_ONCE = 10;

/** Totals by name: `pending`, `pending_bytes` and so on. */
type Totals = Record<string, number>;
type AgentTotals = Totals & { readonly agent_id: string };

interface WrongTotals {
  readonly agent_id: string;
  readonly kept: Totals | null;
  readonly counted: Totals;
}

/**
 * Prints a line for every agent whose totals are wrong, and for the project if its totals are. With
 * `repair`, corrects them. Resolves to the number of faults that remain. Throws CommandError.
 */
export async function checkTotals(
  output: Output,
  { repair }: { readonly repair: boolean },
): Promise<number> {
  let lines = 0;
  const now = repair ? "; repaired" : "";
  for await (const { agent_id, kept, counted } of wrongTotals(await findSuspects())) {
    if (repair) await callAsOperator("repair_totals", { agent_ids: [agent_id] });
    const fault = { fault: "wrong_totals", agent_id, kept, counted, repaired: repair };
    await output.value(fault, () => {
      const [told, found] = [JSON.stringify(kept), JSON.stringify(counted)];
      return `totals of ${agent_id} are ${told}, its rows come to ${found}${now}`;
    });
    lines++;
  }
  const missing = await callAsOperator("check_project_totals", {}) as Totals;
  if (Object.keys(missing).length > 0) {
    if (repair) await callAsOperator("repair_project_totals", {});
    await output.value(
      { fault: "wrong_project_totals", missing, repaired: repair },
      () => `totals of the project lack ${JSON.stringify(missing)} of what all agents have${now}`,
    );
    lines++;
  }
  return repair ? 0 : lines;
}

/** The agents whose kept totals differ from the sum of their rows over all pages. */
async function findSuspects(): Promise<string[]> {
  const differences = new Map<string, Totals>();
  const pages = [
    ["list_shares_of_artifacts", 1],
    ["list_shares_of_grants", 1],
    ["list_totals", -1],
  ] as const;
  for (const [functionName, sign] of pages) {
    for await (const { agent_id, ...share } of rowsOf<AgentTotals>(functionName)) {
      const difference = differences.get(agent_id) ?? {};
      for (const [name, number] of Object.entries(share as Totals)) {
        difference[name] = (difference[name] ?? 0) + sign * number;
      }
      differences.set(agent_id, difference);
    }
  }
  return Array.from(differences)
    .filter(([, difference]) => Object.values(difference).some((number) => number !== 0))
    .map(([agentId]) => agentId);
}

/**
 * The suspects whose totals are really wrong. The totals of the others changed while pages were
 * read.
 */
async function* wrongTotals(suspects: readonly string[]): AsyncGenerator<WrongTotals> {
  for (let first = 0; first < suspects.length; first += AGENTS_COUNTED_AT_ONCE) {
    const agent_ids = suspects.slice(first, first + AGENTS_COUNTED_AT_ONCE);
    yield* await callAsOperator("list_wrong_totals", { agent_ids }) as readonly WrongTotals[];
  }
}
