import { runCommand } from "../command/run_command.ts";
import { callAsOperator } from "./operator_call.ts";

const PAGE_SIZE = 1000;
/** To count what an agent holds, all of its rows are read. */
const AGENTS_PER_PAGE = 10;

interface Page<Finding> {
  readonly found: readonly Finding[];
  readonly next: string | null;
}

/**
 * Prints a line for every committed artifact whose bytes are gone, for every object that belongs to
 * no artifact, and for every agent whose totals are wrong. Resolves to the number of lines.
 */
async function checkConsistency(): Promise<number> {
  let lines = 0;
  const artifacts = pagesOf<{ artifact_id: string; path: string }>("list_artifacts_without_bytes");
  for await (const { artifact_id, path } of artifacts) {
    console.log(`artifact without bytes: ${artifact_id} ${path}`);
    lines++;
  }
  for await (const { path } of pagesOf<{ path: string }>("list_objects_without_artifact")) {
    console.log(`bytes without artifact: ${path}`);
    lines++;
  }
  const totals = pagesOf<{ agent_id: string; kept: unknown; counted: unknown }>(
    "list_wrong_totals",
    AGENTS_PER_PAGE,
  );
  for await (const { agent_id, kept, counted } of totals) {
    console.log(
      `totals of ${agent_id} are ${JSON.stringify(kept)}, its rows come to ${
        JSON.stringify(counted)
      }`,
    );
    lines++;
  }
  return lines;
}

async function* pagesOf<Finding>(
  functionName: string,
  pageSize = PAGE_SIZE,
): AsyncGenerator<Finding> {
  let after: string | null = "";
  while (after !== null) {
    const page = await callAsOperator(functionName, { max_entries: pageSize, after });
    const { found, next } = page as Page<Finding>;
    yield* found;
    after = next;
  }
}

await runCommand(async () => {
  if (await checkConsistency() > 0) Deno.exit(1);
});
