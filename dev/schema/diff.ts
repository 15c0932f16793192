import { rm } from "node:fs/promises";
import { join } from "node:path";
import { CommandError } from "../../packages/command/command_error.ts";
import { runTask } from "../../packages/command/run_task.ts";
import { openCluster, startPostgres, SUPERUSER } from "../../packages/local/postgres/cluster.ts";
import { removePostgresHome } from "../../packages/local/postgres/home.ts";
import { preparePlatform } from "../../packages/local/postgres/platform.ts";
import { compareSchema } from "./comparison.ts";

/**
 * Shows where a database made by the migrations differs from supabase/schemas, on a throw-away
 * cluster. Throws CommandError if they differ.
 */
async function diffSchema(): Promise<void> {
  const stateDir = await Deno.makeTempDir({ prefix: "agent-mesh-schema-" });
  try {
    // Searchable by other users, because PostgreSQL runs as another user if this process is root.
    await Deno.chmod(stateDir, 0o711);
    await Deno.mkdir(join(stateDir, "logs"));
    const password = crypto.randomUUID().replaceAll("-", "");
    const cluster = await openCluster({ stateDir, superuserPassword: password, durable: false });
    const server = await startPostgres(cluster, { durable: false });
    try {
      const url = `postgresql://${SUPERUSER}:${password}@127.0.0.1:${server.port}/postgres`;
      await preparePlatform(url, password);
      const differences = await compareSchema(url);
      for (const difference of differences) console.log(difference);
      if (differences.length > 0) {
        throw new CommandError(
          `The migrations (-) do not make what supabase/schemas (+) says: ${
            differences.length === 1 ? "1 difference" : `${differences.length} differences`
          }.`,
        );
      }
      console.log("The migrations make what supabase/schemas says.");
    } finally {
      await server.child.terminate("SIGINT", 10_000);
    }
  } finally {
    await removePostgresHome(stateDir);
    await rm(stateDir, { recursive: true, force: true });
  }
}

await runTask({
  task: "schema:diff",
  summary: "Show where the migrations and supabase/schemas differ.",
  example: "deno task schema:diff",
  run: diffSchema,
});
