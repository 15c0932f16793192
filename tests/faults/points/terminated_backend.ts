import type postgres from "postgres";

/**
 * Runs `call` while every table of the project is locked, and terminates the backends that wait for
 * these locks, each in the middle of its transaction. A call that needs no lock passes unharmed,
 * for example a call of Storage. Other faults cover the answers of Storage in such trouble.
 */
export async function terminateBackendsOf<Result>(
  call: () => Promise<Result>,
  sql: postgres.Sql,
): Promise<Result> {
  const holder = await sql.reserve();
  try {
    await lockEveryTable(holder);
    const [own] = await holder<{ pid: number }[]>`select pg_backend_pid() as pid`;
    const progress = { isOver: false };
    const result = call().finally(() => progress.isOver = true);
    // The promise is awaited below. Until then, a failure must not count as unhandled.
    result.catch(() => {});
    let ended: readonly unknown[] = [];
    while (!progress.isOver && ended.length === 0) {
      ended = await sql`select pg_terminate_backend(a.pid) from pg_stat_activity a
        where ${own!.pid} = any(pg_blocking_pids(a.pid))`;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await holder`rollback`;
    return await result;
  } finally {
    holder.release();
  }
}

/** Begins a transaction that locks every table exclusively. */
async function lockEveryTable(holder: postgres.ReservedSql): Promise<void> {
  const tables = await holder<{ name: string }[]>`
    select format('%I.%I', n.nspname, c.relname) as name
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and n.nspname = any (agents.own_schemas())
    order by name`;
  const names = tables.map(({ name }) => name).join(", ");
  // Retry without waiting for the locks: waiting could deadlock with another call of the same
  // request.
  while (!await locks(holder, names)) await new Promise((resolve) => setTimeout(resolve, 2));
}

async function locks(holder: postgres.ReservedSql, tables: string): Promise<boolean> {
  await holder`begin`;
  try {
    await holder.unsafe(`lock table ${tables} in access exclusive mode nowait`);
    return true;
  } catch {
    await holder`rollback`;
    return false;
  }
}
