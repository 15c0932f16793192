import process from "node:process";
import { note } from "../command/terminal/output.ts";
import { defineOperation, type Operation } from "./command.ts";
import { CommandError } from "../command/command_error.ts";
import { confirm } from "./endings/confirmation.ts";
import { checkBytes } from "./fsck/bytes.ts";
import { checkObjects } from "./fsck/objects.ts";
import { checkTotals } from "./fsck/totals.ts";
import { checkVersions } from "./fsck/versions.ts";
import { rowsOf } from "./pages.ts";

/** How many objects per second Storage is asked for, unless `--rate` says otherwise. */
const OBJECTS_PER_SECOND = 100;

/** The exit code after Ctrl-C, as shells have it. */
const INTERRUPTED = 130;

export const fsck: Operation = defineOperation({
  summary:
    "Look for artifacts without bytes, bytes without artifacts and wrong totals. Exits with " +
    "1 where something is wrong.",
  example: "agentops fsck --bytes --digests 1%",
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
    "bucket-is-lost": {
      type: "boolean",
      help: "like --bytes, but mark all that Storage cannot read, even if it can read nothing",
    },
    yes: { type: "boolean", help: "with --bucket-is-lost: do not ask" },
    repair: { type: "boolean", help: "replace wrong totals by the sums of the rows" },
  },
  async run({ values }, output) {
    const { repair = false, from } = values;
    const isBucketLost = values["bucket-is-lost"] ?? false;
    const bytes = isBucketLost || (values.bytes ?? false);
    for (const name of ["digests", "rate", "from"] as const) {
      if (!bytes && values[name] !== undefined) throw new CommandError(`--${name} needs --bytes.`);
    }
    if (values.yes && !isBucketLost) throw new CommandError("--yes needs --bucket-is-lost.");
    const options = {
      isBucketLost,
      digestShare: shareOf(values.digests),
      perSecond: numberOf(values.rate ?? String(OBJECTS_PER_SECOND), "rate"),
      after: from ?? "",
    };
    if (isBucketLost) {
      const what = await whatWillBeMarked();
      await confirm(what, values);
      if (values.yes) note(what);
    }
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
    const { signal } = interruption;
    const lost = await checkBytes(output, { ...options, signal });
    // Who says that the bucket is lost has been told what to expect.
    if (!isBucketLost) faults += lost;
    return signal.aborted ? INTERRUPTED : faults > 0 ? 1 : 0;
  },
});

async function whatWillBeMarked(): Promise<string> {
  let artifacts = 0;
  const totals = rowsOf<{ committed: number; superseded: number }>("list_totals");
  for await (const { committed, superseded } of totals) artifacts += committed + superseded;
  return `This asks Storage for the bytes of ${artifacts} artifacts, and marks each that it does not have or cannot read as lost: its downloads answer 410 artifact_lost, and its owner gets an event. If the bytes come back, fsck --bytes removes the marks.`;
}

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
