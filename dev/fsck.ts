import { callAsOperator, runCommand } from "./operator_call.ts";

const PAGE_SIZE = 500;

interface Finding {
  readonly artifact_id: string;
  readonly path: string;
}

/**
 * Names every committed artifact whose bytes are gone and every object that no artifact accounts for, one line each.
 * Resolves to whether there were none.
 */
async function checkConsistency(): Promise<boolean> {
  let isConsistent = true;
  for await (
    const { artifact_id, path } of findings("list_artifacts_without_bytes", {
      cursorName: "after_artifact_id",
      cursorOf: (finding) => finding.artifact_id,
    })
  ) {
    isConsistent = false;
    console.log(`artifact without bytes: ${artifact_id} ${path}`);
  }
  for await (
    const { path } of findings("list_objects_without_artifact", {
      cursorName: "after_path",
      cursorOf: (finding) => finding.path,
    })
  ) {
    isConsistent = false;
    console.log(`bytes without artifact: ${path}`);
  }
  return isConsistent;
}

async function* findings(
  functionName: string,
  { cursorName, cursorOf }: { cursorName: string; cursorOf: (finding: Finding) => string },
): AsyncGenerator<Finding> {
  let cursor = "";
  for (;;) {
    const page = await callAsOperator(functionName, {
      max_entries: PAGE_SIZE,
      [cursorName]: cursor,
    }) as Finding[];
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    cursor = cursorOf(last);
  }
}

await runCommand(async () => {
  if (!await checkConsistency()) Deno.exit(1);
});
