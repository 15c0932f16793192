import type { Output } from "../command/terminal/output.ts";
import { CommandError } from "../command/command_error.ts";
import { defineOperation, type Operation } from "./command.ts";
import { checkObjects } from "./fsck/objects.ts";
import { checkTotals } from "./fsck/totals.ts";
import { callAsOperator } from "./operator_call.ts";
import { sinceOf } from "./output/since.ts";
import { liveEnrolments, type LiveKey, liveKeys } from "./restore/live.ts";
import { type LostRequest, readLostRequests } from "./restore/lost_requests.ts";
import { assertOfThisProject, readRecord } from "./restore/record.ts";
import { listLost, replayRecord } from "./restore/replay.ts";

interface Epoch {
  readonly epoch: string;
  readonly first_config_version: number;
}

async function beginEpoch(output: Output): Promise<void> {
  const { epoch, first_config_version } = await callAsOperator("after_restore", {}) as Epoch;
  await output.value(
    { step: "epoch", epoch, first_config_version },
    () =>
      `Epoch ${epoch} has begun: earlier positions have expired, and every config_version is at ` +
      `least ${first_config_version}.`,
  );
}

async function listLostRequests(requests: readonly LostRequest[], output: Output): Promise<void> {
  for (const request of requests) {
    const { time, path, by, ids, error } = request;
    const named = Object.entries(ids).map(([name, id]) => `${name} ${id}`).join(", ");
    const asked = error === null ? path : `${path}, or was refused (${error})`;
    await output.value(
      { step: "lost_request", ...request },
      () => `look at: ${time} ${asked} by ${by}${named === "" ? "" : `: ${named}`}`,
    );
  }
}

/**
 * Prints a line for each live agent key, and for each key that the log names and the database does
 * not know.
 */
async function listKeys(requests: readonly LostRequest[], output: Output): Promise<void> {
  const known = new Set<string>();
  for await (const key of liveKeys()) {
    known.add(key.key_id);
    await output.value({ step: "live_key", ...key }, () => `live: ${describeKey(key)}`);
  }
  const users = new Map<string, string>();
  for (const { key_id, by } of requests) {
    if (key_id !== null && !known.has(key_id)) users.set(key_id, by);
  }
  for (const [key_id, agent_id] of users) {
    await output.value(
      { step: "unknown_key", key_id, agent_id },
      () => `no longer valid, but used according to the log: ${key_id} of ${agent_id}`,
    );
  }
}

function describeKey({ key_id, agent_id, label, created_at, last_used_at }: LiveKey): string {
  return [
    `${key_id} of ${agent_id}`,
    ...(label === null ? [] : [`"${label}"`]),
    `made ${created_at}`,
    last_used_at === null ? "not used" : `used ${last_used_at}`,
  ].join(", ");
}

/** Anybody who holds an enrolment's proof can get an agent key. */
async function listEnrolments(output: Output): Promise<void> {
  for await (const { enrolment_id, label, created_at } of liveEnrolments()) {
    await output.value(
      { step: "live_enrolment", enrolment_id, label, created_at },
      () => {
        const named = label === null ? enrolment_id : `${enrolment_id}, "${label}"`;
        return `live: enrolment ${named}, made ${created_at}`;
      },
    );
  }
}

export const afterRestore: Operation = defineOperation({
  summary:
    "Prepare a restored database, end again what had ended, and list what may be lost. Exits " +
    "with 1 if something needs you.",
  example: "agentops restore after --record record.jsonl",
  options: {
    record: {
      type: "string",
      value: "FILE",
      help: "what `agentops events --endings --json` printed: what came after the backup is " +
        "ended again",
    },
    "dry-run": {
      type: "boolean",
      help: "show which events of the record the database lacks, and change nothing",
    },
    since: {
      type: "string",
      value: "WHEN",
      help: "when the backup was made; changes that the log has after it are listed",
    },
    log: {
      type: "string",
      value: "FILE",
      help: "the functions' log since the backup; needs --since",
    },
  },
  async run({ values }, terminal) {
    // `| head` must not stop it halfway.
    const output = terminal.outlivingReader();
    const { log, record } = values;
    const since = sinceOf(values.since);
    // Do not guess the backup's time from the newest event: that event may come from an earlier run
    // of this command, or from after the restore.
    if (log !== undefined && since === null) {
      throw new CommandError("--log needs --since: when the backup was made.");
    }
    // Read all files before anything changes.
    const lines = record === undefined ? null : await readRecord(record);
    if (lines !== null) await assertOfThisProject(lines);
    if (values["dry-run"]) {
      if (lines === null) throw new CommandError("--dry-run needs --record.");
      return await listLost(lines, output);
    }
    const requests = log === undefined || since === null ? [] : await readLostRequests(log, since);

    await beginEpoch(output);
    const unended = lines === null ? 0 : await replayRecord(lines, output);
    if (lines === null) {
      await output.value(
        { step: "record", lines: null },
        () =>
          "Without --record, whatever was ended after the backup is valid again: removed agents, " +
          "revoked agent keys, grants and enrolments, rules.",
      );
    }
    await output.value(
      { step: "window", since, log: log ?? null, lost_requests: requests.length },
      () =>
        log === undefined
          ? "Without --log, changes after the backup are not listed."
          : `Changes after ${since} are lost. The log has ${requests.length} requests that may have changed something.`,
    );
    await listLostRequests(requests, output);
    await listKeys(requests, output);
    await listEnrolments(output);
    const faults = await checkObjects(output) + await checkTotals(output, { repair: false });
    await output.value(
      { step: "end", faults, unended },
      () =>
        `${unended === 0 ? "" : `${unended} lines of the record need you. `}` +
        `fsck found ${faults} faults. Next: agentops fsck --bytes, then agentops doctor.`,
    );
    return faults + unended > 0 ? 1 : 0;
  },
});
