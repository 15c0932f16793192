import { runConformance } from "./conformance_run.ts";
import { runProgramTask } from "../../packages/command/run_task.ts";
import { readConnection } from "../../packages/operator/connection/connection.ts";
import { addCounts, describeCounts } from "./units/test_counts.ts";

/** Keys that a deployment may lack. The checks that need a missing key are skipped. */
const OPTIONAL_KEYS = [
  "SUPABASE_PUBLISHABLE_KEY",
  "SUPABASE_SERVICE_ROLE_KEY",
  "SUPABASE_ANON_KEY",
];

/**
 * Runs the black-box suite against a deployment, over HTTP alone. Passes its arguments on to `deno
 * test`.
 */
await runProgramTask(async () => {
  const sections = await runConformance({
    connection: { ...optionalKeys(), ...await readConnection() },
    testArguments: Deno.args,
    onOutput: (text) => console.log(text),
  });
  for (const { title, ...counts } of sections) console.log(`${title}: ${describeCounts(counts)}`);
  const total = addCounts(sections);
  console.log(describeCounts(total));
  Deno.exit(total.failed > 0 ? 1 : 0);
});

function optionalKeys(): Record<string, string> {
  return Object.fromEntries(
    OPTIONAL_KEYS.flatMap((name) => {
      const key = Deno.env.get(name);
      return key ? [[name, key]] : [];
    }),
  );
}
