import type postgres from "postgres";

/** The position that this database issues for a place in a feed. */
export async function positionAt(sql: postgres.Sql, place: string): Promise<string> {
  const [row] = await sql<[{ position: string }]>`select agents.position_at(${place}) as position`;
  return row.position;
}
