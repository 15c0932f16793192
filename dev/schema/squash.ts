import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CommandError } from "../../packages/command/command_error.ts";
import { PROJECT } from "../../packages/local/project.ts";
import { runTask } from "../../packages/command/run_task.ts";
import { readReleases } from "./releases.ts";
import { readSchemaFiles } from "../../packages/local/postgres/schema_files.ts";

/**
 * The file of the only migration until the first release. Its version stays the same. So two
 * branches change the same file, and a database with an earlier text of it is recognised as such.
 */
export const RELEASE_MIGRATION = "20261121120000_release.sql";

/**
 * Writes the migration that makes the whole schema in an empty project, replacing all existing
 * ones. Throws CommandError, with nothing changed, once there is a release: databases have then
 * applied its migrations.
 */
export async function squashMigrations(project: string): Promise<void> {
  const [release] = await readReleases(project);
  if (release !== undefined) {
    throw new CommandError(
      `${release.version} is released, and databases have applied its migrations: write a new migration instead (CONTRIBUTING.md, Changing the schema).`,
    );
  }
  const directory = join(project, "supabase", "migrations");
  const text = await renderMigration(project);
  for (const file of await readdir(directory)) {
    if (file.endsWith(".sql")) await rm(join(directory, file));
  }
  await writeFile(join(directory, RELEASE_MIGRATION), text);
}

/** The text of the one migration: every schema file, in order. Throws CommandError. */
export async function renderMigration(project: string): Promise<string> {
  const files = (await readSchemaFiles(project)).map(({ path, text }) =>
    `-- ${path}\n\n${text.trimEnd()}\n`
  );
  return `-- Written by \`deno task schema:squash\` from supabase/schemas/: edit it there.\n\n${
    files.join("\n")
  }`;
}

if (import.meta.main) {
  await runTask({
    task: "schema:squash",
    summary: "Write the migration of the next release from supabase/schemas.",
    example: "deno task schema:squash",
    run: async () => {
      await squashMigrations(PROJECT);
      console.log(`Wrote supabase/migrations/${RELEASE_MIGRATION}.`);
    },
  });
}
