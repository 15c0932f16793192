import { execFile } from "node:child_process";
import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { CommandError } from "../command/command_error.ts";
import { PROJECT } from "../command/project.ts";
import { runCommand } from "../command/run_command.ts";
import { renderInitialMigration } from "../postgres/schemas.ts";

const INITIAL_MIGRATION = "20261121120000_initial_schema.sql";

/**
 * Writes the one migration that makes the whole schema in an empty project, in place of all that
 * are there. Until the first release only: what was released is history, which later migrations add
 * to. Throws CommandError.
 */
async function squashMigrations(): Promise<void> {
  const { stdout: tags } = await promisify(execFile)("git", ["tag", "--list"], { cwd: PROJECT });
  if (tags.trim() !== "") {
    throw new CommandError(
      "There is a release, and its migrations have been applied: write a new migration instead (CONTRIBUTING.md, Changing the schema).",
    );
  }
  const directory = join(PROJECT, "supabase", "migrations");
  const text = await renderInitialMigration();
  for (const file of await readdir(directory)) {
    if (file.endsWith(".sql")) await rm(join(directory, file));
  }
  await writeFile(join(directory, INITIAL_MIGRATION), text);
  console.log(`Wrote supabase/migrations/${INITIAL_MIGRATION}.`);
}

await runCommand(squashMigrations);
