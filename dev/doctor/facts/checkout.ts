import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { VERSION } from "../../../supabase/functions/_shared/version.ts";
import { PROJECT } from "../../command/project.ts";

/** A migration, as `inspect_deployment` tells of it too. */
export interface Migration {
  readonly version: string;
  readonly name: string;
  /** MD5 of its text without white space and semicolons; null where nobody recorded the text. */
  readonly digest: string | null;
}

/** What this checkout would deploy. */
export interface Checkout {
  readonly version: string;
  readonly migrations: readonly Migration[];
  /** The SQL functions of its API, by their names. */
  readonly operations: readonly string[];
}

const MIGRATION_FILE = /^(\d+)_(.*)\.sql$/;

export async function readCheckout(): Promise<Checkout> {
  const supabase = join(PROJECT, "supabase");
  const files = (await readdir(join(supabase, "migrations"))).sort();
  const migrations = await Promise.all(files.flatMap((file) => {
    const [, version, name] = MIGRATION_FILE.exec(file) ?? [];
    return version === undefined || name === undefined
      ? []
      : [readMigration(join(supabase, "migrations", file), { version, name })];
  }));
  const privileges = await readFile(join(supabase, "schemas", "privileges.sql"), "utf8");
  return { version: VERSION, migrations, operations: namesOfOperations(privileges) };
}

async function readMigration(
  file: string,
  { version, name }: { readonly version: string; readonly name: string },
): Promise<Migration> {
  const text = (await readFile(file, "utf8")).replaceAll(/[ \t\r\n;]/g, "");
  return { version, name, digest: createHash("md5").update(text).digest("hex") };
}

/** privileges.sql names every function of the API, as a text. */
function namesOfOperations(privileges: string): string[] {
  const names = Array.from(privileges.matchAll(/'public\.(\w+)'/g), ([, name]) => name!);
  return [...new Set(names)].sort();
}
