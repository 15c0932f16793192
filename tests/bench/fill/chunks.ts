import type postgres from "postgres";

/** How many rows one transaction writes at most. This keeps progress and bounds memory. */
const ROWS_PER_CHUNK = 100_000;

/**
 * Splits 0 to `count` into ranges and calls `fill` for one range after the other, each in a
 * transaction without triggers and foreign keys.
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
