/** A transaction that has written something and is neither committed nor rolled back. */
import postgres from "postgres";

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
