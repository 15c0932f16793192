import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "smol-toml";
import { CommandError } from "../../command/command_error.ts";
import { PROJECT } from "../project.ts";

/** One file of `supabase/schemas/`. */
export interface SchemaFile {
  /** Below `supabase/`, such as `schemas/mesh/peers.sql`. */
  readonly path: string;
  readonly text: string;
}

/**
 * The files that `schema_paths` in a project's `config.toml` names, in that order. Throws
 * CommandError.
 */
export async function readSchemaFiles(project: string = PROJECT): Promise<SchemaFile[]> {
  const supabase = join(project, "supabase");
  const config = parse(await readFile(join(supabase, "config.toml"), "utf8")) as {
    readonly db?: { readonly migrations?: { readonly schema_paths?: unknown } };
  };
  const paths = config.db?.migrations?.schema_paths;
  if (!Array.isArray(paths) || paths.length === 0) {
    throw new CommandError("supabase/config.toml names no schema_paths under [db.migrations].");
  }
  return await Promise.all(paths.map(async (named) => {
    const path = String(named).replace(/^\.\//, "");
    return { path, text: await readFile(join(supabase, path), "utf8") };
  }));
}

/** The schemas that the files make, sorted. */
export function namesOfSchemas(files: readonly SchemaFile[]): string[] {
  return files.flatMap(({ text }) =>
    Array.from(text.matchAll(/^create schema (\w+)/gm), ([, name]) => name!)
  ).sort();
}

/** The names of the functions that the schema files define in `public`, sorted. */
export function namesOfOperations(files: readonly SchemaFile[]): string[] {
  return files.flatMap(({ text }) =>
    Array.from(text.matchAll(/^create function public\.(\w+)\(/gm), ([, name]) => name!)
  ).sort();
}
