/**
 * Runs the seeds from one number up to another, and prints a line of JSON for each that fails. With
 * `first`, stops there, and says which decisions are enough to fail.
 */
import { simulate } from "../simulate.ts";
import { kindOf, shrink } from "./shrink.ts";

const [from, end, first] = Deno.args;
for (let seed = Number(from); seed < Number(end); seed++) {
  const { findings, decisions } = await simulate({ seed });
  if (findings.length === 0) continue;
  if (first !== "first") {
    console.log(JSON.stringify({ seed, findings }));
    continue;
  }
  const kept = await shrink(seed, { kind: kindOf(findings[0]!), decisions });
  console.log(JSON.stringify({ seed, findings, decisions, kept }));
  break;
}
