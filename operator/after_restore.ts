import type { Output } from "../clients/typescript/src/cli/terminal/output.ts";
import { CommandError } from "../local/command/command_error.ts";
import { runTask } from "../local/command/run_task.ts";
import { checkObjects } from "./fsck/objects.ts";
import { checkTotals } from "./fsck/totals.ts";
import { callAsOperator } from "./operator_call.ts";
import { sinceOf } from "./output/since.ts";
import { findEvents } from "./reads/find_events.ts";
import { type LostRequest, readLostRequests } from "./restore/lost_requests.ts";
import { type LiveKey, liveKeys, readRevoked, revokeKey } from "./restore/revocations.ts";

interface Epoch {
  readonly epoch: string;
  readonly first_config_version: number;
}

/** The newest thing that the database remembers; before that, nothing is lost. */
async function newestEvent(): Promise<string> {
  const { events } = await findEvents({ max_entries: 1 });
  return events.at(-1)?.at ?? new Date(0).toISOString();
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
    const ids = Object.entries(request.ids).map(([name, id]) => `${name} ${id}`).join(", ");
    await output.value(
      { step: "lost_request", ...request },
      () => `look at: ${request.time} ${request.path} by ${request.by}: ${ids}`,
    );
  }
}

/**
 * A line for each live agent key. One that the list of revoked keys has must be revoked again; with
 * `revoke`, it is. Keys that the log has and the database does not know are told, too.
 */
async function listKeys(
  { revoked, revoke, requests }: {
    readonly revoked: ReadonlySet<string>;
    readonly revoke: boolean;
    readonly requests: readonly LostRequest[];
  },
  output: Output,
): Promise<void> {
  const known = new Set<string>();
  for await (const key of liveKeys()) {
    known.add(key.key_id);
    const wasRevoked = revoked.has(key.key_id);
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
      () => `not taken any more: ${key_id} of ${agent_id}, which the log has`,
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

await runTask({
  task: "after-restore",
  summary:
    "After the database was restored: expire positions, raise versions, list what may be lost and " +
    "which agent keys are valid again, and check everything. Exits with 1 if a check finds a fault.",
  example: "deno task after-restore --since 2026-01-31T03:00:00Z --log functions.log",
  options: {
    since: {
      type: "string",
      value: "WHEN",
      help: "when the backup was made; default: at the newest event of the database",
    },
    log: { type: "string", value: "FILE", help: "the functions' log of the time since" },
    "revoked-list": {
      type: "string",
      value: "FILE",
      help: "agent keys that were revoked: key ids, or events from `deno task events --json`",
    },
    revoke: { type: "boolean", help: "revoke the keys of the list again" },
  },
  async run({ values }, output) {
    const { log, revoke = false } = values;
    const list = values["revoked-list"];
    if (revoke && list === undefined) throw new CommandError("--revoke needs --revoked-list.");
    // All that can be wrong with the arguments is known before anything changes.
    const revoked = list === undefined ? new Set<string>() : await readRevoked(list);
    const since = sinceOf(values.since) ?? await newestEvent();
    const requests = log === undefined ? [] : await readLostRequests(log, since);

    await beginEpoch(output);
    await output.value(
      { step: "window", since },
      () => `What happened after ${since} is lost, or may be.`,
    );
    await listLostRequests(requests, output);
    await listKeys({ revoked, revoke, requests }, output);
    const faults = await checkObjects(output) + await checkTotals(output, { repair: false });
    await output.value(
      { step: "end", faults },
      () => `fsck found ${faults} faults. Next: deno task fsck --bytes, then deno task doctor.`,
    );
    return faults > 0 ? 1 : 0;
  },
});
