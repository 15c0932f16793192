import { cp, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { introduceOperator } from "./actors/operator_calls.ts";
import { type Break, changed } from "./breaks/break.ts";
import { playOn, type Stage } from "./history.ts";
import { openDatabase } from "./world/dump.ts";
import { rememberRows } from "./world/emptying.ts";
import { replaceGlobals } from "./world/globals.ts";
import { Postgrest } from "./world/postgrest.ts";
import type { Apps } from "./world/world.ts";

const FUNCTIONS = new URL("../../supabase/functions/", import.meta.url);

/**
 * So many seeds are played before the start, so that a session has compiled and planned what it
 * calls. Otherwise, every history would do this again.
 */
const REHEARSED_SEEDS = 12;

/** Opens a deployment and makes it ready for histories, with `broken` if it is given. */
export async function openStage(broken?: Break): Promise<Stage> {
  const apps = await loadFunctions(await functionsFolder(broken));
  replaceGlobals();
  const database = await openDatabase((sql) => changed(sql, "sql", broken));
  const postgrest = new Postgrest(database);
  const bringBackRows = rememberRows(database);
  const deployment = { database, postgrest, apps };
  await introduceOperator(deployment);
  for (let seed = 1; seed <= REHEARSED_SEEDS; seed++) {
    await playOn(deployment, { seed, steps: 30 });
    bringBackRows();
  }
  return { ...deployment, start: database.save() };
}

/** The folder of the functions; if some are broken, a copy with the changes. */
async function functionsFolder(broken: Break | undefined): Promise<URL> {
  const files = new Set(broken?.changes.map(({ file }) => file).filter((file) => file !== "sql"));
  if (files.size === 0) return FUNCTIONS;
  const folder = await mkdtemp(join(tmpdir(), "agent-simulation-functions-"));
  await cp(fileURLToPath(FUNCTIONS), folder, { recursive: true });
  for (const file of files) {
    const path = join(folder, file);
    await writeFile(path, changed(await readFile(path, "utf8"), file, broken));
  }
  return pathToFileURL(`${folder}/`);
}

/** Loads also what the functions load when they first need it: loading takes no simulated time. */
async function loadFunctions(folder: URL): Promise<Apps> {
  await loadFolder(folder);
  const { createSHA256 } = await import("hash-wasm");
  await createSHA256();
  const [{ artifactsApp }, { meshApp }] = await Promise.all([
    import(new URL("agent-artifacts/app.ts", folder).href),
    import(new URL("agent-mesh/app.ts", folder).href),
  ]);
  return { "agent-artifacts": artifactsApp, "agent-mesh": meshApp };
}

async function loadFolder(folder: URL): Promise<void> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) await loadFolder(new URL(`${name}/`, folder));
    else if (name.endsWith(".ts") && name !== "index.ts") await import(new URL(name, folder).href);
  }
}
