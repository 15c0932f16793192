/** A transaction that has written something and is neither committed nor rolled back. */
import postgres from "postgres";
import { urlOf } from "../connection.ts";

export interface HeldTransaction extends AsyncDisposable {
  commit(): Promise<void>;
}

/** Begins a transaction on a separate connection, and calls `write` in it. */
export async function holdTransaction(
  databaseUrl: string,
  write: (sql: postgres.Sql) => Promise<unknown>,
): Promise<HeldTransaction> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  await sql`begin`;
  await write(sql);
  let isOpen = true;
  return {
    async commit() {
      await sql`commit`;
      isOpen = false;
    },
    async [Symbol.asyncDispose]() {
      // Whoever ended the session has rolled it back.
      if (isOpen) await sql`rollback`.catch(() => {});
      await sql.end();
    },
  };
}

/** Calls an SQL function, by its name without the prefix, and leaves its transaction open. */
export async function holdCall(
  sql: postgres.Sql,
  functionName: string,
  parameters: Record<string, unknown>,
): Promise<HeldTransaction> {
  const names = Object.keys(parameters);
  const list = names.map((name, index) => `${name} => $${index + 1}`).join(", ");
  const values = names.map((name) => parameters[name] as postgres.ParameterOrJSON<never>);
  return await holdTransaction(
    await urlOf(sql),
    (session) => session.unsafe(`select public.agent_api_${functionName}(${list})`, values),
  );
}

/** Calls `later`, and commits `held` as soon as a transaction of this database waits for a lock. */
export async function behind<Result>(
  sql: postgres.Sql,
  held: HeldTransaction,
  later: () => Promise<Result>,
): Promise<Result> {
  const result = later();
  // Awaited below. Until then, a refusal that comes too early must not end the process.
  result.catch(() => {});
  await untilSomebodyWaits(sql);
  await held.commit();
  return await result;
}

async function untilSomebodyWaits(sql: postgres.Sql): Promise<void> {
  for (let look = 0; look < 3_000; look++) {
    const waiting = await sql`
      select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    if (waiting.length > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("No transaction waits.");
}
