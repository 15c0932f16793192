/** A page of names in a large bucket, with and without Storage's columns for versions. */
import postgres from "postgres";
import { removeVersionColumns } from "../../database/bucket/versions.ts";
import { median, milliseconds } from "../load/timing.ts";
import type { FilledStack } from "./operations.ts";

export interface BucketPages {
  readonly storage: "with versions" | "with versions, not analyzed" | "without versions";
  /** The first page that a connection asks for, in milliseconds. */
  readonly first: number;
  /** The median of its next pages: PostgreSQL makes a new plan for each of the first five. */
  readonly next: number;
  /** The median of those after that. */
  readonly later: number;
}

const PLANNED_ANEW = 5;

/** Measures last: afterwards, the stack's own Storage no longer finds its columns. */
export async function measureBucketPages(
  { stack: { sql, superuserDatabaseUrl } }: FilledStack,
  onResult: (result: BucketPages) => void,
): Promise<void> {
  const measure = async (storage: BucketPages["storage"]) =>
    onResult({ storage, ...await timesOf(superuserDatabaseUrl) });
  await sql`vacuum analyze storage.objects`;
  await measure("with versions");
  await sql`
    delete from pg_statistic
    where starelid = 'storage.objects'::regclass and staattnum in (
      select attnum from pg_attribute
      where attrelid = 'storage.objects'::regclass
        and attname in ('archived_at', 'is_delete_marker', 'is_versioned')
    )`;
  await measure("with versions, not analyzed");
  await removeVersionColumns(sql);
  await sql`vacuum analyze storage.objects`;
  await measure("without versions");
}

async function timesOf(url: string): Promise<Omit<BucketPages, "storage">> {
  const connection = postgres(url, { max: 1 });
  try {
    await connection`select 1`;
    const times: number[] = [];
    while (times.length < 4 * PLANNED_ANEW) {
      times.push(
        await milliseconds(() =>
          connection`select * from artifacts.current_names('incoming/~', U&'\\+10FFFF', 200)`
        ),
      );
    }
    return {
      first: times[0]!,
      next: median(times.slice(1, PLANNED_ANEW)),
      later: median(times.slice(PLANNED_ANEW)),
    };
  } finally {
    await connection.end();
  }
}
