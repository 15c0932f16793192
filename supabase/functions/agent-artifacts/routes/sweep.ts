import * as z from "zod";
import { limit } from "../../_shared/request/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import { requireBucket } from "../storage/bucket.ts";
import { createObjectStore } from "../storage/object_store.ts";
import type { ArtifactsSettings } from "../settings.ts";

const response = z.object({
  expired: z.int().min(0).meta({
    description: "How many artifacts were removed because they had expired or been deleted.",
    examples: [12],
  }),
  abandoned: z.int().min(0).meta({
    description: "How many artifacts were removed that had never been committed.",
    examples: [1],
  }),
  orphaned: z.int().min(0).meta({
    description: "How many objects were removed that belong to no artifact.",
    examples: [0],
  }),
  forgotten_events: z.int().min(0).meta({
    description: "How many events were removed that were older than EVENTS_RETENTION_DAYS.",
    examples: [0],
  }),
  removed_agents: z.int().min(0).meta({
    description:
      "How many ephemeral agents were removed because they were out of contact too long.",
    examples: [0],
  }),
  remaining: z.int().min(0).meta({
    description: "How much is left for the next call. 0: nothing.",
    examples: [0],
  }),
  orphans_held: z.int().min(0).meta({
    description: "How many objects belong to no artifact but were kept, because they are more " +
      "than 5% of the bucket: the database may be older than the bucket. They do not count in " +
      "`remaining`. Look at them with `agentops fsck`, then send `remove_many_orphans`.",
    examples: [0],
  }),
});

/** How many entries of the event log one call looks at: there are more events than artifacts. */
const LOG_ENTRIES_PER_CALL = 2_000;

interface Remaining {
  readonly remaining: number;
}

interface Ended extends Remaining {
  readonly expired: number;
  readonly abandoned: number;
}

interface Enrolled extends Remaining {
  /** Agents whose time without contact may be over. */
  readonly idle: readonly string[];
}

interface ForgottenEvents extends Remaining {
  readonly forgotten: number;
}

interface DeadObjects extends Remaining {
  readonly dead_paths: readonly string[];
  readonly orphan_paths: readonly string[];
  readonly orphans_held: number;
}

export function createOperation(
  { callDatabase, settings }: Platform<ArtifactsSettings>,
): Operation {
  const store = createObjectStore(settings);
  return defineOperation({
    summary: "Remove expired, deleted and abandoned files, and old events.",
    description: "Each call removes a limited number. Repeat it until `remaining` is 0.",
    tag: "Retention",
    callers: "the operator",
    effect: "replaces",
    identification: "required",
    request: z.strictObject({
      limit: limit.meta({
        description: "The largest number of artifacts to end and of objects to remove.",
        examples: [1000],
      }),
      remove_many_orphans: z.boolean().default(false)
        .meta({ description: "Also remove the objects that `orphans_held` counts." }),
    }),
    response,
    errors: [],
    async handle({ input, caller }) {
      const step = { caller, max_entries: input.limit };
      // Each step is a transaction of its own, and its result stays even if a later step fails.
      // Surplus is recorded before artifacts end: the whole upload of an ended artifact counts as
      // surplus.
      await callDatabase("record_surplus_uploads", { caller });
      const ended = await callDatabase<Ended>("end_artifacts", {
        ...step,
        window_seconds: settings.artifactsFetchUrlSeconds,
      });
      // Before any call to Storage, so that the log stays small even if Storage does not answer.
      const log = { caller, max_entries: LOG_ENTRIES_PER_CALL };
      const reads = await callDatabase<Remaining>("settle_reads", log);
      const changes = await callDatabase<Remaining>("settle_changes", log);
      const tasks = await callDatabase<Remaining>("settle_tasks", log);
      const retention_days = settings.eventsRetentionDays;
      const events: ForgottenEvents = retention_days === 0
        ? { forgotten: 0, remaining: 0 }
        : await callDatabase<ForgottenEvents>("forget_events", { ...log, retention_days });
      const usage: Remaining = retention_days === 0
        ? { remaining: 0 }
        : await callDatabase<Remaining>("forget_usage", { ...log, retention_days });
      const paths = await callDatabase<Remaining>("forget_paths", log);
      const deliveries = await callDatabase<Remaining>("forget_deliveries", log);
      const enrolled = await callDatabase<Enrolled>("forget_enrolled", log);
      let removed_agents = 0;
      for (const agent_id of enrolled.idle) {
        const idle = { caller, agent_id, use_written_seconds: settings.usageWriteSeconds };
        const { ended } = await callDatabase<{ ended: number }>("end_idle_agent", idle);
        removed_agents += ended;
      }
      const [{ dead_paths, orphan_paths, ...dead }] = await Promise.all([
        callDatabase<DeadObjects>("collect_dead_objects", {
          ...step,
          remove_many_orphans: input.remove_many_orphans,
        }),
        // If the bucket is missing, Storage removes nothing and reports success.
        requireBucket(settings),
      ]);
      // If this fails or never happens, a later call lists the same paths again.
      const removed = new Set(await store.remove([...dead_paths, ...orphan_paths]));
      const forgotten = await callDatabase<Remaining>("forget_ended", step);
      return {
        expired: ended.expired,
        abandoned: ended.abandoned,
        orphaned: orphan_paths.filter((path) => removed.has(path)).length,
        orphans_held: dead.orphans_held,
        forgotten_events: events.forgotten,
        removed_agents,
        remaining: ended.remaining + reads.remaining + changes.remaining + tasks.remaining +
          events.remaining + usage.remaining + paths.remaining + deliveries.remaining +
          enrolled.remaining +
          dead.remaining + forgotten.remaining,
      };
    },
  });
}
