import { runConformance } from "./conformance_run.ts";
import { readConnection, runCommand } from "./operator_call.ts";
import { describeCounts } from "./test_counts.ts";

/** Keys that a deployment may have; checks that need one are left out without it. */
const OPTIONAL_KEYS = [
  "SUPABASE_PUBLISHABLE_KEY",
  "SUPABASE_SERVICE_ROLE_KEY",
  "SUPABASE_ANON_KEY",
];

/** Runs the black-box suite against a deployment, over HTTP alone; arguments go to `deno test`. */
await runCommand(async () => {
  const { code, sections } = await runConformance(
    { ...optionalKeys(), ...await readConnection() },
    Deno.args,
  );
  for (const { title, ...counts } of sections) console.log(`${title}: ${describeCounts(counts)}`);
  Deno.exit(code);
});

function optionalKeys(): Record<string, string> {
  return Object.fromEntries(
    OPTIONAL_KEYS.flatMap((name) => {
      const key = Deno.env.get(name);
      return key ? [[name, key]] : [];
    }),
  );
}
