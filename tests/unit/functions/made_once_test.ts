import assert from "node:assert/strict";
import type { AppDescription } from "../../../supabase/functions/_shared/request/app_description.ts";
import { createApp } from "../../../supabase/functions/_shared/request/app.ts";
import { listTools } from "../../../supabase/functions/_shared/operations/mcp/tools.ts";
import { eachMadeOnce } from "../../../supabase/functions/_shared/operations/made_once.ts";
import { mcp } from "../../../supabase/functions/agent-mesh/mcp/definition.ts";
import {
  MESH_VARIABLES,
  type MeshSettings,
  readMeshSettings,
} from "../../../supabase/functions/agent-mesh/settings.ts";
import { documentation } from "../../../supabase/functions/agent-mesh/documentation.ts";

const ENVIRONMENT = new Map([
  ["SUPABASE_URL", "http://127.0.0.1:1"],
  ["SUPABASE_SECRET_KEYS", '{"default": "sb_secret_own"}'],
]);

function appWith(loadDocumentation: AppDescription<MeshSettings>["loadDocumentation"]) {
  const nobody = () => Promise.reject(new Error("nobody asked for it"));
  return createApp<MeshSettings>({
    name: "agent-mesh",
    readSettings: readMeshSettings,
    variables: MESH_VARIABLES,
    operations: {},
    loadMetrics: nobody,
    loadDocumentation,
    loadMcp: nobody,
  }, ENVIRONMENT);
}

/** Runs without printing the log. */
async function unlogged<Result>(run: () => Promise<Result>): Promise<Result> {
  const { log, error } = console;
  console.log = console.error = () => {};
  try {
    return await run();
  } finally {
    Object.assign(console, { log, error });
  }
}

Deno.test("GET /openapi.json three times, two of them at once → one document, made once", async () => {
  let made = 0;
  const app = appWith(() => {
    made++;
    return Promise.resolve({ documentation });
  });
  const get = async () => {
    const request = new Request("http://127.0.0.1/agent-mesh/openapi.json");
    const response = await app.fetch(request);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "application/json");
    return await response.text();
  };
  await unlogged(async () => {
    const texts = [...await Promise.all([get(), get()]), await get()];
    assert.equal(JSON.parse(texts[0]!).info.title, documentation.title);
    assert.equal(new Set(texts).size, 1);
  });
  assert.equal(made, 1);
});

Deno.test("a document that cannot be made once → 500 internal; the next request has it", async () => {
  let made = 0;
  const app = appWith(() =>
    made++ === 0 ? Promise.reject(new TypeError("not now")) : Promise.resolve({ documentation })
  );
  const get = () => app.fetch(new Request("http://127.0.0.1/agent-mesh/openapi.json"));
  await unlogged(async () => {
    assert.equal((await get()).status, 500);
    assert.equal((await get()).status, 200);
    assert.equal((await get()).status, 200);
  });
  assert.equal(made, 2);
});

Deno.test("listTools() twice for the operations of one function → the same list; another for another function's", async () => {
  const operations = eachMadeOnce({}, () => Promise.reject(new Error("no operation")));
  const tools = await listTools(operations, mcp);
  assert.equal(await listTools(operations, mcp), tools);
  assert.notEqual(await listTools(new Map(operations), mcp), tools);
});
