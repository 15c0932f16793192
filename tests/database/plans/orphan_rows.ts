import type postgres from "postgres";

/**
 * Orphans for the sweep of a filled database: 3% of the objects, all recorded by an earlier sweep.
 * Recorded between them are as many orphans as there are artifacts; their objects are gone.
 */
export async function fillOrphans(
  sql: postgres.Sql,
  { artifacts }: { artifacts: number },
): Promise<void> {
  await sql`
    insert into storage.objects (bucket_id, name, version, created_at, metadata)
    select 'agent-artifacts', 'sealed/art_' || lpad(to_hex(i * 33), 32, '0') || '/1',
      gen_random_uuid()::text, now() - interval '15 days', '{"size": 100}'
    from generate_series(1, ${artifacts}::integer * 3 / 100) i`;
  await sql`
    insert into artifacts.orphans (object_name, deciding_round)
    select 'sealed/art_' || lpad(to_hex(i), 32, '0') || '/1', 1
    from generate_series(1, ${artifacts}::integer) i`;
  await sql`vacuum analyze storage.objects, artifacts.orphans`;
}
