/** Runs the seeds from one number up to another, and prints a line of JSON for each that fails. */
import { simulate } from "../simulate.ts";

const [from = 1, end = 1] = Deno.args.map(Number);
for (let seed = from; seed < end; seed++) {
  const { findings } = await simulate({ seed });
  if (findings.length > 0) console.log(JSON.stringify({ seed, findings }));
}
