import { VERSION } from "../../../supabase/functions/_shared/version.ts";
import { digestOfMigration, readMigrationFiles } from "../../../local/postgres/migration_files.ts";
import { namesOfOperations, readSchemaFiles } from "../../../local/postgres/schema_files.ts";

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

export async function readCheckout(): Promise<Checkout> {
  return {
    version: VERSION,
    migrations: (await readMigrationFiles()).map(({ version, name, text }) => ({
      version,
      name,
      digest: digestOfMigration(text),
    })),
    operations: namesOfOperations(await readSchemaFiles()),
  };
}
