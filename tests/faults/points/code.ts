/** What the code of the functions can do, read from the code itself. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../../local/command/project.ts";
import { requireBucket } from "../../../supabase/functions/agent-artifacts/storage/bucket.ts";
import { createObjectStore } from "../../../supabase/functions/agent-artifacts/storage/object_store.ts";
import { readArtifactsSettings } from "../../../supabase/functions/agent-artifacts/settings.ts";
import { artifactsApp } from "../../../supabase/functions/agent-artifacts/app.ts";
import { meshApp } from "../../../supabase/functions/agent-mesh/app.ts";

const FUNCTIONS = join(PROJECT, "supabase", "functions");

const ENVIRONMENT = new Map([
  ["SUPABASE_URL", "http://127.0.0.1:1"],
  ["SUPABASE_SECRET_KEYS", '{"default": "sb_secret_own"}'],
]);

/** These call nothing. */
const WITHOUT_CALLS = /\/(?:openapi\.json|\.well-known\/oauth-protected-resource)$/;

const DATABASE_CALL = /\b(?:call|relay)Database\b[^("]*\(\s*"(\w+)"/g;

const AUTH_CALL = /\bfetchWithDeadline\("(auth\/\w+)"/g;

/** The paths of both functions' operations, in byte order. */
export function operationsOfApps(): string[] {
  const routes = [artifactsApp(ENVIRONMENT), meshApp(ENVIRONMENT)].flatMap((app) => app.routes);
  const paths = routes.map(({ path }) => path)
    .filter((path) => !path.includes("*") && !WITHOUT_CALLS.test(path));
  return [...new Set(paths)].sort();
}

/** The SQL functions that the functions call, and the calls of Auth. */
export async function namedCallsInCode(): Promise<string[]> {
  const names = new Set<string>();
  for (const entry of await readdir(FUNCTIONS, { recursive: true, withFileTypes: true })) {
    if (!entry.name.endsWith(".ts")) continue;
    const source = await readFile(join(entry.parentPath, entry.name), "utf8");
    for (const call of [DATABASE_CALL, AUTH_CALL]) {
      for (const [, name] of source.matchAll(call)) names.add(name!);
    }
  }
  return [...names].sort();
}

/** Each makes a Storage call of its own. */
export function storageMethodsInCode(): string[] {
  const store = createObjectStore(readArtifactsSettings(ENVIRONMENT));
  return [...Object.keys(store), requireBucket.name];
}
