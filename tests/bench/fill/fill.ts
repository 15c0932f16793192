import type postgres from "postgres";
import { fillEvents, fillKeys } from "./agents.ts";
import { fillArtifacts } from "./artifacts.ts";
import { CAST, EPOCH, type Size } from "./cast.ts";
import { fillMesh } from "./mesh.ts";
import { fillUsage } from "./usage.ts";

/**
 * Fills a database that has nothing but the migrations, and has the planner look at it. `sql` is
 * the superuser's; with several connections, tables are filled side by side.
 */
export async function fill(sql: postgres.Sql, size: Size): Promise<void> {
  await sql`update agents.epochs set epoch = ${EPOCH}`;
  await Promise.all([
    fillArtifacts(sql, size),
    fillMesh(sql, size),
    fillKeys(sql, size, CAST),
    fillEvents(sql, size),
    fillUsage(sql, size),
  ]);
  await sql`vacuum analyze`;
}
