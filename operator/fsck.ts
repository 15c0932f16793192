import type { Output } from "../clients/typescript/src/cli/terminal/output.ts";
import { runTask } from "../local/command/run_task.ts";
import { callAsOperator } from "./operator_call.ts";
import { rowsOf } from "./pages.ts";

/** To count what agents hold, all of their rows are read. */
const AGENTS_COUNTED_AT_ONCE = 10;

/** Numbers by their names: `pending`, `pending_bytes` and so on. */
type Totals = Record<string, number>;
type AgentTotals = Totals & { readonly agent_id: string };

interface WrongTotals {
  readonly agent_id: string;
  readonly kept: Totals | null;
  readonly counted: Totals;
}

/**
 * Prints a line for every committed artifact whose bytes are gone, for every object that belongs to
 * no artifact, and for every agent whose totals are wrong. Resolves to the number of lines.
 */
async function checkConsistency(output: Output): Promise<number> {
  let lines = 0;
  const artifacts = rowsOf<{ artifact_id: string; path: string }>("list_artifacts_without_bytes");
  for await (const { artifact_id, path } of artifacts) {
    await output.value(
      { fault: "artifact_without_bytes", artifact_id, path },
      () => `artifact without bytes: ${artifact_id} ${path}`,
    );
    lines++;
  }
  for await (const { path } of rowsOf<{ path: string }>("list_objects_without_artifact")) {
    await output.value(
      { fault: "bytes_without_artifact", path },
      () => `bytes without artifact: ${path}`,
    );
    lines++;
  }
  for await (const { agent_id, kept, counted } of wrongTotals(await findSuspects())) {
    await output.value({ fault: "wrong_totals", agent_id, kept, counted }, () => {
      const [told, found] = [JSON.stringify(kept), JSON.stringify(counted)];
      return `totals of ${agent_id} are ${told}, its rows come to ${found}`;
    });
    lines++;
  }
  return lines;
}

/** The agents whose kept totals are not the sum over the pages of their rows. */
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

/** The suspects whose totals are wrong indeed: those of others changed while pages were read. */
async function* wrongTotals(suspects: readonly string[]): AsyncGenerator<WrongTotals> {
  for (let first = 0; first < suspects.length; first += AGENTS_COUNTED_AT_ONCE) {
    const agent_ids = suspects.slice(first, first + AGENTS_COUNTED_AT_ONCE);
    yield* await callAsOperator("list_wrong_totals", { agent_ids }) as readonly WrongTotals[];
  }
}

await runTask({
  task: "fsck",
  summary:
    "Look for artifacts without bytes, bytes without artifacts and wrong totals. Exits with " +
    "1 where something is wrong.",
  example: "deno task fsck",
  run: async (_parsed, output) => await checkConsistency(output) > 0 ? 1 : 0,
});
