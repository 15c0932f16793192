/**
 * Artifacts and objects of any age and state, written directly into the database, because otherwise
 * only time could create them.
 */
import { createHash } from "node:crypto";
import type postgres from "postgres";

export interface SeededObject {
  readonly path: (artifactId: string) => string;
  readonly uploadedHoursAgo?: number;
  /** In bytes; artifacts are registered with 0. */
  readonly size?: number;
}

/** `count` artifacts of one kind, each with its objects. Ages in hours. */
export interface Seed {
  readonly name: string;
  readonly count: number;
  /** Further columns of artifacts.artifacts. Null: objects without an artifact. */
  readonly row: Readonly<Record<string, unknown>> | null;
  /** Columns of artifacts.verifications. Default: no attempt is in progress. */
  readonly verification?: Readonly<Record<string, unknown>>;
  readonly objects: readonly SeededObject[];
}

const DAY = 24;
const SHA256_OF_NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

export function hoursAgo(hours: number): string {
  return new Date(Date.now() - hours * 3_600_000).toISOString();
}

export function incoming(uploadedHoursAgo = 1, size = 0): SeededObject {
  return { path: (id) => `incoming/${id}`, uploadedHoursAgo, size };
}

export function sealed(attempt: number, uploadedHoursAgo = 1): SeededObject {
  return { path: (id) => `sealed/${id}/${attempt}`, uploadedHoursAgo };
}

/**
 * The columns of an artifact that was committed 99 days ago and expires `expiresIn` hours from now.
 */
export function committed(
  { attempt = 1, expiresIn = 30 * DAY, state = "committed" }: {
    attempt?: number;
    expiresIn?: number;
    state?: "committed" | "superseded" | "deleted";
  } = {},
): Record<string, unknown> {
  return {
    state,
    sha256: SHA256_OF_NOTHING,
    created_at: hoursAgo(100 * DAY),
    committed_at: hoursAgo(99 * DAY),
    expires_at: hoursAgo(-expiresIn),
    commit_attempts: attempt,
    sealed_attempt: attempt,
  };
}

/** The columns of a pending artifact. */
export function pending(
  createdHoursAgo: number,
  columns: Record<string, unknown> = {},
): Record<string, unknown> {
  return { state: "pending", created_at: hoursAgo(createdHoursAgo), ...columns };
}

/**
 * An attempt to commit without a verdict: its lease is still held, or was given back after some
 * progress.
 */
export function verifying(
  { leaseEndsInHours, progressHoursAgo }: { leaseEndsInHours?: number; progressHoursAgo?: number },
): Record<string, unknown> {
  return {
    attempt: 1,
    ...(leaseEndsInHours === undefined
      ? {}
      : { lease_token: crypto.randomUUID(), lease_expires_at: hoursAgo(-leaseEndsInHours) }),
    ...(progressHoursAgo === undefined ? {} : {
      progress_at: hoursAgo(progressHoursAgo),
      verified_bytes: 1,
      hash_state: "\\x00",
      object_id: crypto.randomUUID(),
      object_version: "1",
    }),
  };
}

/** The same id in every run. Like real ids, these are spread over the bucket's names. */
export function artifactIdOf(seed: string, index: number): string {
  return `art_${createHash("sha256").update(`${seed}/${index}`).digest("hex").slice(0, 32)}`;
}

/** Writes the rows and objects of `seeds` as the superuser. Returns the objects' paths. */
export async function seedBucket(sql: postgres.Sql, seeds: readonly Seed[]): Promise<string[]> {
  const rows: Record<string, unknown>[] = [];
  const verifications: Record<string, unknown>[] = [];
  const objects: { name: string; created_at: string; metadata: { size: number } }[] = [];
  for (const seed of seeds) {
    for (let index = 0; index < seed.count; index++) {
      const id = artifactIdOf(seed.name, index);
      if (seed.row !== null) {
        rows.push({
          artifact_id: id,
          agent_id: "planner",
          key: `${seed.name}/${index}`,
          mime: "text/plain",
          size_bytes: 0,
          ttl_days: 1,
          commit_attempts: 0,
          rejected_attempts: 0,
          end_grants: false,
          ...seed.row,
        });
        if (seed.verification !== undefined) {
          verifications.push({ artifact_id: id, verified_bytes: 0, ...seed.verification });
        }
      }
      for (const { path, uploadedHoursAgo = 1, size = 0 } of seed.objects) {
        objects.push({
          name: path(id),
          created_at: hoursAgo(uploadedHoursAgo),
          metadata: { size },
        });
      }
    }
  }
  await sql`
    insert into artifacts.artifacts
    select * from jsonb_populate_recordset(null::artifacts.artifacts, ${
    sql.json(rows as unknown as postgres.JSONValue)
  })`;
  await sql`
    insert into artifacts.verifications
    select * from jsonb_populate_recordset(null::artifacts.verifications, ${
    sql.json(verifications as unknown as postgres.JSONValue)
  })`;
  await sql`
    insert into storage.objects (bucket_id, name, version, created_at, metadata)
    select 'agent-artifacts', name, gen_random_uuid(), created_at, metadata
    from jsonb_to_recordset(${
    sql.json(objects)
  }) as o (name text, created_at timestamptz, metadata jsonb)`;
  return objects.map((object) => object.name);
}

/** Every path in the bucket, in byte order. */
export async function pathsInBucket(sql: postgres.Sql): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select name from storage.objects where bucket_id = 'agent-artifacts' order by name collate "C"`;
  return rows.map((row) => row.name);
}
