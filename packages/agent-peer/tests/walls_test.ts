/** What the peer knows of the rest of the project. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { relativeImports } from "../../../tests/unit/rooms.ts";

const PROJECT = fileURLToPath(new URL("../../..", import.meta.url));
const PEER = "packages/agent-peer";

/** The files that a file imports, as paths below the project. */
async function importsOf(file: string): Promise<string[]> {
  const source = await readFile(join(PROJECT, file), "utf8");
  return relativeImports(source).map((path) => join(dirname(file), path));
}

async function sources(): Promise<string[]> {
  const files = await readdir(join(PROJECT, PEER), { recursive: true });
  return files.filter((file) => file.endsWith(".ts")).map((file) => join(PEER, file));
}

Deno.test("what the peer imports from outside its package → named by service.ts and platform.ts alone", async () => {
  const own = (await sources()).filter((file) => !file.startsWith(`${PEER}/tests/`));
  assert.ok(own.length > 80, String(own.length));
  const outside: string[] = [];
  for (const file of own) {
    const others = (await importsOf(file)).filter((path) => !path.startsWith(`${PEER}/`));
    if (others.length > 0) outside.push(file);
    for (const path of others) assert.match(path, /^packages\/agent-files\//, file);
  }
  assert.deepEqual(outside.sort(), [`${PEER}/platform.ts`, `${PEER}/service.ts`]);
});

Deno.test("all that the peer and its tests load → nothing below supabase/, so they need no service", async () => {
  const waiting = await sources();
  const loaded = new Set<string>();
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (loaded.has(file) || !file.endsWith(".ts")) continue;
    loaded.add(file);
    waiting.push(...await importsOf(file));
  }
  assert.ok(loaded.has("packages/agent-files/http/connection.ts"), "the imports are followed");
  assert.deepEqual([...loaded].filter((file) => file.startsWith("supabase/")), []);
});
