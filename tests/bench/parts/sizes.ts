/** Sizes of rows on disk, and how many rows and pages one call of each SQL function touches. */
import { openExplainer } from "../../database/plans/explain.ts";
import type { FilledStack } from "./operations.ts";

export interface RelationSize {
  readonly table: string;
  /** The table's own name, or the name of one of its indexes. */
  readonly relation: string;
  readonly rows: number;
  readonly bytes: number;
}

/** Measures every table that grows with use, and every index with entries. */
export async function measureSizes({ stack }: FilledStack): Promise<RelationSize[]> {
  await stack.sql`vacuum analyze`;
  return await stack.sql<RelationSize[]>`
    with tables as (
      select c.oid, n.nspname || '.' || c.relname as name
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      where c.relkind = 'r' and n.nspname = any (agents.own_schemas())
        or c.oid = 'storage.objects'::regclass
    )
    select t.name as table, t.name as relation, c.reltuples::float8 as rows,
      pg_table_size(c.oid)::float8 as bytes
    from tables t join pg_class c on c.oid = t.oid
    where c.reltuples >= 100
    union all
    select t.name, i.relname, i.reltuples::float8, pg_relation_size(i.oid)::float8
    from tables t
    join pg_index x on x.indrelid = t.oid
    join pg_class i on i.oid = x.indexrelid
    join pg_class c on c.oid = t.oid
    where c.reltuples >= 100 and i.reltuples > 0
    order by 1, 4 desc`;
}

export interface Touched {
  readonly call: string;
  readonly rows: number;
  readonly pages: number | null;
}

export async function measureTouched({ stack }: FilledStack): Promise<Touched[]> {
  // Import it only here: it relies on a mesh that the large stack has and the small one lacks, and
  // it imports the operations' cards, which need to know a deployment.
  Deno.env.set("SUPABASE_URL", stack.url);
  Deno.env.set("SUPABASE_SECRET_KEY", stack.secretKey);
  const { CALLS } = await import("../../database/plans/calls.ts");
  const explainer = await openExplainer(stack.superuserDatabaseUrl);
  try {
    const touched: Touched[] = [];
    for (const call of CALLS.filter(({ circumstances }) => !/thousand/.test(circumstances))) {
      const { rows, pages } = await explainer.explain(call, "force_custom_plan");
      touched.push({ call: `${call.functionName} ${call.circumstances}`.trim(), rows, pages });
    }
    return touched;
  } finally {
    await explainer.end();
  }
}
