import type { Output } from "../clients/typescript/src/cli/terminal/output.ts";
import { CommandError } from "../local/command/command_error.ts";
import { runTask } from "../local/command/run_task.ts";
import { checkObjects } from "./fsck/objects.ts";
import { checkTotals } from "./fsck/totals.ts";
import { callAsOperator } from "./operator_call.ts";
import { sinceOf } from "./output/since.ts";
import {
  liveEnrolments,
  type LiveKey,
  liveKeys,
  revokeEnrolment,
  revokeKey,
} from "./restore/live.ts";
import { type LostRequest, readLostRequests } from "./restore/lost_requests.ts";
import { NOTHING_REVOKED, readRevoked, type Revoked } from "./restore/revocations.ts";

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
 * Prints a line for each live agent key. A key on the list of revoked keys must be revoked again;
 * with `revoke`, this function revokes it. Also prints each key that the log names and the database
 * does not know.
 */
async function listKeys(
  { revoked, revoke, requests }: {
    readonly revoked: Revoked;
    readonly revoke: boolean;
    readonly requests: readonly LostRequest[];
  },
  output: Output,
): Promise<void> {
  const known = new Set<string>();
  for await (const key of liveKeys()) {
    known.add(key.key_id);
    const wasRevoked = revoked.keys.has(key.key_id);
    if (wasRevoked && revoke) await revokeKey(key);
    await output.value(
      { step: "live_key", ...key, was_revoked: wasRevoked, revoked: wasRevoked && revoke },
      () => describeKey(key, { wasRevoked, revoke }),
    );
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

function describeKey(
  { key_id, agent_id, label, created_at, last_used_at }: LiveKey,
  { wasRevoked, revoke }: { readonly wasRevoked: boolean; readonly revoke: boolean },
): string {
  const facts = [
    `${key_id} of ${agent_id}`,
    ...(label === null ? [] : [`"${label}"`]),
    `made ${created_at}`,
    last_used_at === null ? "not used" : `used ${last_used_at}`,
  ].join(", ");
  if (wasRevoked && revoke) return `revoked again: ${facts}`;
  return wasRevoked
    ? `revoke again: deno task agent:revoke ${key_id} (${facts})`
    : `live, unless it was revoked since the backup: ${facts}`;
}

/** Like listKeys, for enrolments: anybody who holds an enrolment's proof can get an agent key. */
async function listEnrolments(
  { revoked, revoke }: { readonly revoked: Revoked; readonly revoke: boolean },
  output: Output,
): Promise<void> {
  for await (const enrolment of liveEnrolments(revoked.enrolments)) {
    const { enrolment_id, label, created_at } = enrolment;
    const wasRevoked = revoked.enrolments.has(enrolment_id);
    if (wasRevoked && revoke) await revokeEnrolment(enrolment);
    await output.value(
      {
        ...{ step: "live_enrolment", enrolment_id, label, created_at },
        ...{ was_revoked: wasRevoked, revoked: wasRevoked && revoke },
      },
      () => {
        const named = label === null ? enrolment_id : `${enrolment_id}, "${label}"`;
        const facts = `${named}, made ${created_at}`;
        if (wasRevoked && revoke) return `revoked again: enrolment ${facts}`;
        return wasRevoked
          ? `revoke again: deno task enrolment:revoke ${enrolment_id} (${facts})`
          : `live, unless it was revoked since the backup: enrolment ${facts}`;
      },
    );
  }
}

await runTask({
  task: "after-restore",
  summary:
    "After the database was restored: expire positions, raise versions, list what may be lost and " +
    "which agent keys and enrolments are valid again, and check everything. Exits with 1 if a check finds a fault.",
  example: "deno task after-restore --since 2026-01-31T03:00:00Z --log functions.log",
  options: {
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
    "revoked-list": {
      type: "string",
      value: "FILE",
      help:
        "agent keys and enrolments that were revoked: ids, or events from `deno task events --json`",
    },
    revoke: { type: "boolean", help: "revoke everything on the list again" },
  },
  async run({ values }, output) {
    const { log, revoke = false } = values;
    const list = values["revoked-list"];
    if (revoke && list === undefined) throw new CommandError("--revoke needs --revoked-list.");
    const since = sinceOf(values.since);
    // Do not guess the backup's time from the newest event: that event may come from an earlier run
    // of this command, or from after the restore.
    if (log !== undefined && since === null) {
      throw new CommandError("--log needs --since: when the backup was made.");
    }
    // Validate all arguments before anything changes.
    const revoked = list === undefined ? NOTHING_REVOKED : await readRevoked(list);
    const requests = log === undefined || since === null ? [] : await readLostRequests(log, since);

    await beginEpoch(output);
    await output.value(
      { step: "window", since, log: log ?? null, lost_requests: requests.length },
      () =>
        log === undefined
          ? "Without --log, changes after the backup are not listed."
          : `Changes after ${since} are lost. The log has ${requests.length} requests that may have changed something.`,
    );
    await listLostRequests(requests, output);
    if (revoked.ignored > 0) {
      await output.value(
        { step: "revoked_list", ignored_events: revoked.ignored },
        () => `${list}: ${revoked.ignored} events of other types ignored.`,
      );
    }
    await listKeys({ revoked, revoke, requests }, output);
    await listEnrolments({ revoked, revoke }, output);
    const faults = await checkObjects(output) + await checkTotals(output, { repair: false });
    await output.value(
      { step: "end", faults },
      () => `fsck found ${faults} faults. Next: deno task fsck --bytes, then deno task doctor.`,
    );
    return faults > 0 ? 1 : 0;
  },
});
