import { readMigrationFiles } from "../../../packages/local/postgres/migration_files.ts";
import { type Break, changed } from "./break.ts";

/**
 * The SQL functions that a break changes, with its changes, to put them into a database that has
 * the release: a stage of its own for each break would take longer than its histories.
 */
export async function changedFunctions(broken: Break): Promise<readonly string[]> {
  const release = (await readMigrationFiles()).map(({ text }) => text).join("\n");
  return broken.changes.map(({ file, from, to }) => {
    if (file !== "sql") throw new Error(`${file} is no SQL.`);
    const place = release.indexOf(from);
    const start = release.lastIndexOf("\nCREATE FUNCTION ", place) + 1 ||
      release.lastIndexOf("\ncreate function ", place) + 1;
    const end = release.indexOf("\n$$;", place) + "\n$$;".length;
    const text = changed(release.slice(start, end), "sql", {
      ...broken,
      changes: [{ file, from, to }],
    });
    return text.replace(/^create function/i, "create or replace function");
  });
}
