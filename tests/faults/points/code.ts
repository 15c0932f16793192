/** The operations and upstream calls of the functions, read from their code. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../../packages/local/project.ts";
import { requireBucket } from "../../../supabase/functions/agent-artifacts/storage/bucket.ts";
import { createObjectStore } from "../../../supabase/functions/agent-artifacts/storage/object_store.ts";
import { readArtifactsSettings } from "../../../supabase/functions/agent-artifacts/settings.ts";
import { artifactsApp } from "../../../supabase/functions/agent-artifacts/app.ts";
import { meshApp } from "../../../supabase/functions/agent-mesh/app.ts";
import type { FunctionName } from "./scenario.ts";

const FUNCTIONS = join(PROJECT, "supabase", "functions");

const ENVIRONMENT = new Map([
  ["SUPABASE_URL", "http://127.0.0.1:1"],
  ["SUPABASE_SECRET_KEYS", '{"default": "sb_secret_own"}'],
]);

/** Operations that call no upstream. */
const WITHOUT_CALLS = /\/(?:openapi\.json|\.well-known\/oauth-protected-resource)$/;

const DATABASE_CALL = /\b(?:call|relay)Database\b[^("]*\(\s*"(\w+)"/g;

const AUTH_CALL = /\bfetchWithDeadline\("(auth\/\w+)"/g;

const APPS = { "agent-artifacts": artifactsApp, "agent-mesh": meshApp };

/** The paths of a function's operations, in byte order. */
export function operationsOf(functionName: FunctionName): string[] {
  const paths = APPS[functionName](ENVIRONMENT).routes.map(({ path }) => path)
    .filter((path) => !path.includes("*") && !WITHOUT_CALLS.test(path));
  return [...new Set(paths)].sort();
}

/** The SQL functions and Auth calls that a function makes, in its own or in shared code. */
export async function namedCallsInCode(functionName: FunctionName): Promise<string[]> {
  const names = new Set<string>();
  for (const folder of [functionName, "_shared"]) {
    const entries = await readdir(join(FUNCTIONS, folder), {
      recursive: true,
      withFileTypes: true,
    });
    for (const entry of entries.filter(({ name }) => name.endsWith(".ts"))) {
      const source = await readFile(join(entry.parentPath, entry.name), "utf8");
      for (const call of [DATABASE_CALL, AUTH_CALL]) {
        for (const [, name] of source.matchAll(call)) names.add(name!);
      }
    }
  }
  return [...names].sort();
}

/** The methods that each make their own Storage call. */
export function storageMethodsInCode(functionName: FunctionName): string[] {
  if (functionName === "agent-mesh") return [];
  const store = createObjectStore(readArtifactsSettings(ENVIRONMENT));
  return [...Object.keys(store), requireBucket.name];
}
