import type postgres from "postgres";
import { fillEvents, fillKeys } from "./agents.ts";
import { fillArtifacts } from "./artifacts.ts";
import { CAST, EPOCH, type Size } from "./cast.ts";
import { fillMesh } from "./mesh.ts";
import { fillUsage } from "./usage.ts";
import { fillWebhooks } from "./webhooks.ts";

/**
 * Fills a database that contains only the migrations, and analyzes it for the planner. `sql` is the
 * superuser's. With several connections, tables are filled side by side.
 */
export async function fill(sql: postgres.Sql, size: Size): Promise<void> {
  await sql`update agents.epochs set epoch = ${EPOCH}`;
  await Promise.all([
    fillArtifacts(sql, size),
    fillMesh(sql, size),
    fillKeys(sql, size, CAST),
    fillEvents(sql, size),
    fillUsage(sql, size),
    fillWebhooks(sql, size),
  ]);
  await sql`vacuum analyze`;
}
