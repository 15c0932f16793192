import process from "node:process";
import { runTask } from "../local/command/run_task.ts";
import { CommandError } from "../local/command/command_error.ts";
import { checkBytes } from "./fsck/bytes.ts";
import { checkObjects } from "./fsck/objects.ts";
import { checkTotals } from "./fsck/totals.ts";
import { checkVersions } from "./fsck/versions.ts";

/** How many objects per second Storage is asked for, unless `--rate` says otherwise. */
const OBJECTS_PER_SECOND = 100;

/** The exit code after Ctrl-C, as shells have it. */
const INTERRUPTED = 130;

await runTask({
  task: "fsck",
  summary:
    "Look for artifacts without bytes, bytes without artifacts and wrong totals. Exits with " +
    "1 where something is wrong.",
  example: "deno task fsck --bytes --digests 1%",
  options: {
    bytes: {
      type: "boolean",
      help: "ask Storage for every object, and mark the artifacts whose bytes are lost",
    },
    digests: {
      type: "string",
      value: "PERCENT",
      help: "with --bytes: read this share of the objects, and compare their SHA-256",
    },
    rate: {
      type: "string",
      value: "N",
      help: `with --bytes: at most N objects a second; default: ${OBJECTS_PER_SECOND}`,
    },
    from: {
      type: "string",
      value: "ARTIFACT_ID",
      help: "with --bytes: continue after this artifact, without the other checks",
    },
    repair: { type: "boolean", help: "replace wrong totals by the sums of the rows" },
  },
  async run({ values }, output) {
    const { bytes = false, repair = false, from } = values;
    for (const name of ["digests", "rate", "from"] as const) {
      if (!bytes && values[name] !== undefined) throw new CommandError(`--${name} needs --bytes.`);
    }
    const options = {
      digestShare: shareOf(values.digests),
      perSecond: numberOf(values.rate ?? String(OBJECTS_PER_SECOND), "rate"),
      after: from ?? "",
    };
    let faults = await checkVersions(output);
    if (from === undefined) {
      faults += await checkObjects(output);
      faults += await checkTotals(output, { repair });
    }
    if (!bytes) return faults > 0 ? 1 : 0;
    const interruption = new AbortController();
    // The first Ctrl-C lets the checks under way end, so that their findings are told and the
    // position is right. The second one ends the process.
    process.once("SIGINT", () => interruption.abort());
    faults += await checkBytes(output, { ...options, signal: interruption.signal });
    return interruption.signal.aborted ? INTERRUPTED : faults > 0 ? 1 : 0;
  },
});

/** A share, from a percentage such as `5%`. Throws CommandError. */
function shareOf(text = "0"): number {
  const percent = numberOf(text.replace(/%$/, ""), "digests", 0);
  if (percent > 100) throw new CommandError("--digests takes a percentage, such as 5%.");
  return percent / 100;
}

/** Throws CommandError. */
function numberOf(text: string, option: string, least = 0.01): number {
  const number = /^[0-9]{1,6}(?:\.[0-9]{1,3})?$/.test(text) ? Number(text) : NaN;
  if (!(number >= least)) throw new CommandError(`--${option} takes a number, such as 5.`);
  return number;
}
