import type postgres from "postgres";

/** What one transaction writes at the most, so that progress is kept and memory bounded. */
const ROWS_PER_CHUNK = 100_000;

/**
 * Calls `fill` for one range of 0 to `count` after the other, each in a transaction without
 * triggers and foreign keys.
 */
export async function fillInChunks(
  sql: postgres.Sql,
  count: number,
  fill: (
    transaction: postgres.TransactionSql,
    range: { readonly from: number; readonly to: number },
  ) => Promise<unknown>,
): Promise<void> {
  for (let from = 0; from < count; from += ROWS_PER_CHUNK) {
    await sql.begin(async (transaction) => {
      await transaction`set local session_replication_role = replica`;
      await fill(transaction, { from, to: Math.min(count, from + ROWS_PER_CHUNK) });
    });
  }
}
