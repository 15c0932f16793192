import { VERSION } from "../../../../supabase/functions/_shared/request/version.ts";
import {
  type MigrationRecord,
  readMigrationFiles,
  recordOf,
} from "../../../local/postgres/migration_files.ts";
import {
  namesOfOperations,
  namesOfSchemas,
  readSchemaFiles,
} from "../../../local/postgres/schema_files.ts";
import { readSchemaFunctions, type SchemaFunction } from "./schema_functions.ts";

/** What this checkout would deploy. */
export interface Checkout {
  readonly version: string;
  readonly migrations: readonly MigrationRecord[];
  /** The PostgreSQL schemas that contain only our objects. */
  readonly schemas: readonly string[];
  /** The names of the SQL functions that the API exposes. */
  readonly operations: readonly string[];
  readonly functions: readonly SchemaFunction[];
}

export async function readCheckout(): Promise<Checkout> {
  const schema = await readSchemaFiles();
  return {
    version: VERSION,
    migrations: (await readMigrationFiles()).map(recordOf),
    schemas: namesOfSchemas(schema),
    operations: namesOfOperations(schema),
    functions: readSchemaFunctions(schema),
  };
}
