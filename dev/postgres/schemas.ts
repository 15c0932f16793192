import postgres from "postgres";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "smol-toml";
import { CommandError, reasonOf } from "../command/command_error.ts";
import { PROJECT } from "../command/project.ts";

/** One file of `supabase/schemas/`. */
export interface SchemaFile {
  /** Below `supabase/`, such as `schemas/mesh/peers.sql`. */
  readonly path: string;
  readonly text: string;
}

const SUPABASE_DIRECTORY = join(PROJECT, "supabase");

/** The files that `schema_paths` in `config.toml` names, in its order. Throws CommandError. */
export async function readSchemaFiles(): Promise<SchemaFile[]> {
  const config = parse(await readFile(join(SUPABASE_DIRECTORY, "config.toml"), "utf8")) as {
    readonly db?: { readonly migrations?: { readonly schema_paths?: unknown } };
  };
  const paths = config.db?.migrations?.schema_paths;
  if (!Array.isArray(paths) || paths.length === 0) {
    throw new CommandError("supabase/config.toml names no schema_paths under [db.migrations].");
  }
  return await Promise.all(paths.map(async (named) => {
    const path = String(named).replace(/^\.\//, "");
    return { path, text: await readFile(join(SUPABASE_DIRECTORY, path), "utf8") };
  }));
}

/** Makes everything that the schema files define, in one transaction. Throws CommandError. */
export async function applySchemas(databaseUrl: string): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  try {
    await sql.begin(async (transaction) => {
      for (const { path, text } of await readSchemaFiles()) {
        await transaction.unsafe(text).catch((cause: unknown) => {
          throw new CommandError(`supabase/${path} failed: ${reasonOf(cause)}.`, { cause });
        });
      }
    });
  } finally {
    await sql.end();
  }
}

/** The version of the first migration; those after it follow a minute apart. */
const FIRST_MIGRATION = Date.UTC(2026, 10, 21, 12);

/**
 * Migrations that make all of it in an empty project, one per schema file, in order. The last one
 * has the privileges. Until it is applied, nobody has the use of the schemas, so the functions that
 * are there already do nothing for anybody.
 */
export async function renderMigrations(): Promise<{ file: string; text: string }[]> {
  return (await readSchemaFiles()).map(({ path, text }, index) => {
    const version = new Date(FIRST_MIGRATION + index * 60_000).toISOString().replace(/\D/g, "");
    return {
      file: `${version.slice(0, 14)}_${migrationName(path)}.sql`,
      text: `-- Made of supabase/${path} by \`deno task schema:squash\`.\n\n${text}`,
    };
  });
}

/** `schemas/mesh/peers.sql` → `mesh_peers`; `schemas/agents/agents.sql` → `agents`. */
function migrationName(path: string): string {
  const segments = path.replace(/^schemas\//, "").replace(/\.sql$/, "").split("/");
  return Array.from(new Set(segments)).join("_");
}
