import { VERSION } from "../../../supabase/functions/_shared/version.ts";
import { digestOfMigration, readMigrationFiles } from "../../../local/postgres/migration_files.ts";
import { namesOfOperations, readSchemaFiles } from "../../../local/postgres/schema_files.ts";
import { readSchemaFunctions, type SchemaFunction } from "./schema_functions.ts";

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
  readonly functions: readonly SchemaFunction[];
}

export async function readCheckout(): Promise<Checkout> {
  const schema = await readSchemaFiles();
  return {
    version: VERSION,
    migrations: (await readMigrationFiles()).map(({ version, name, text }) => ({
      version,
      name,
      digest: digestOfMigration(text),
    })),
    operations: namesOfOperations(schema),
    functions: readSchemaFunctions(schema),
  };
}
