import { execFile } from "node:child_process";
import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { CommandError } from "../command/command_error.ts";
import { PROJECT } from "../command/project.ts";
import { runCommand } from "../command/run_command.ts";
import { renderMigrations } from "../postgres/schemas.ts";

/**
 * Writes the migrations that make the whole schema in an empty project, in place of all that are
 * there. Until the first release only: what was released is history, which later migrations add
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
  const migrations = await renderMigrations();
  for (const file of await readdir(directory)) {
    if (file.endsWith(".sql")) await rm(join(directory, file));
  }
  for (const { file, text } of migrations) await writeFile(join(directory, file), text);
  console.log(`Wrote ${migrations.length} files in supabase/migrations/.`);
}

await runCommand(squashMigrations);
