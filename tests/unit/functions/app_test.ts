import assert from "node:assert/strict";
import * as z from "zod";
import { createApp } from "../../../supabase/functions/_shared/request/app.ts";
import type { AppDescription } from "../../../supabase/functions/_shared/request/app_description.ts";
import {
  defineOperation,
  type Operation,
} from "../../../supabase/functions/_shared/operations/operation.ts";
import {
  MESH_VARIABLES,
  type MeshSettings,
  readMeshSettings,
} from "../../../supabase/functions/agent-mesh/settings.ts";

const ENVIRONMENT = new Map([
  ["SUPABASE_URL", "http://127.0.0.1:1"],
  ["SUPABASE_SECRET_KEYS", '{"default": "sb_secret_own"}'],
]);

function operationThat(handle: () => Promise<Record<string, unknown>>): Operation {
  return defineOperation({
    summary: "Try.",
    tag: "Tests",
    callers: "the operator",
    effect: "reads",
    identification: "required",
    request: z.object({}),
    response: z.looseObject({}),
    errors: [],
    handle,
  });
}

/** A function with one operation, handled by `handle`. */
function appWith(handle: () => Promise<Record<string, unknown>>, environment = ENVIRONMENT) {
  const operation = operationThat(handle);
  return createApp(
    describe(() => Promise.resolve({ createOperation: () => operation })),
    environment,
  );
}

/** A function with one operation, loaded by `load`. */
function describe(
  load: () => Promise<{ createOperation: () => Operation }>,
): AppDescription<MeshSettings> {
  return {
    name: "agent-mesh",
    readSettings: readMeshSettings,
    variables: MESH_VARIABLES,
    operations: { "/try": load },
    loadMetrics: () => Promise.reject(new Error("nobody asked for it")),
    loadDocumentation: () => Promise.reject(new Error("nobody asked for it")),
    loadMcp: () => Promise.reject(new Error("nobody asked for it")),
  };
}

function post(path = "/agent-mesh/try"): Request {
  return new Request(`http://127.0.0.1${path}`, {
    method: "POST",
    headers: { apikey: "sb_secret_own", "x-request-id": "r1" },
    body: '{"grant_token": "g_secret"}',
  });
}

/** The parsed lines that are logged while `run` runs. */
async function logged(run: () => Promise<unknown>): Promise<Record<string, unknown>[]> {
  const lines: string[] = [];
  const { log, error } = console;
  console.log = console.error = (line: string) => lines.push(line);
  try {
    await run();
  } finally {
    console.log = log;
    console.error = error;
  }
  return lines.map((line) => JSON.parse(line));
}

Deno.test("a handler that throws an unexpected error → 500 internal that tells nothing; the log has the cause", async () => {
  const app = appWith(() => Promise.reject(new TypeError("secret detail of the inside")));
  const [line] = await logged(async () => {
    const response = await app.fetch(post());
    assert.equal(response.status, 500);
    const text = await response.text();
    assert.equal(text.includes("secret detail"), false);
    const { error } = JSON.parse(text);
    assert.deepEqual([error.code, error.retryable, error.request_id], ["internal", false, "r1"]);
  });
  assert.equal(line?.["error"], "internal");
  assert.match(String(line["cause"]), /TypeError: secret detail/);
});

Deno.test("a route that cannot be loaded once → 500 internal; the next request has it", async () => {
  let loads = 0;
  const app = createApp(
    describe(() =>
      loads++ === 0
        ? Promise.reject(new TypeError("not now"))
        : Promise.resolve({ createOperation: () => operationThat(() => Promise.resolve({})) })
    ),
    ENVIRONMENT,
  );
  await logged(async () => {
    assert.equal((await app.fetch(post())).status, 500);
    assert.equal((await app.fetch(post())).status, 200);
    assert.equal((await app.fetch(post())).status, 200);
  });
  assert.equal(loads, 2);
});

Deno.test("settings that cannot be used → every request is 503 misconfigured, with the variable's name", async () => {
  const app = appWith(
    () => Promise.resolve({}),
    new Map([...ENVIRONMENT, ["MESH_ONLINE_SECONDS", "soon"]]),
  );
  await logged(async () => {
    for (const request of [post(), new Request("http://127.0.0.1/agent-mesh/health")]) {
      const response = await app.fetch(request);
      assert.equal(response.status, 503);
      const { error } = await response.json();
      assert.equal(error.code, "misconfigured");
      assert.match(error.message, /MESH_ONLINE_SECONDS/);
      assert.equal(error.retryable, false);
    }
  });
});

Deno.test("a database that cannot be reached → /health is 503 upstream_unavailable with retry-after", async () => {
  const app = appWith(() => Promise.resolve({}));
  await logged(async () => {
    const response = await app.fetch(new Request("http://127.0.0.1/agent-mesh/health"));
    assert.equal(response.status, 503);
    assert.equal((await response.json()).error.code, "upstream_unavailable");
    assert.equal(Number(response.headers.get("retry-after")) > 0, true);
  });
});

Deno.test("one JSON line per request, with nothing of its body, its credential or an unknown path", async () => {
  const app = appWith(() => Promise.resolve({ done: true }));
  const lines = await logged(async () => {
    await app.fetch(post());
    await app.fetch(post("/agent-mesh/g_secret_in_a_path"));
  });
  assert.equal(lines.length, 2);
  const { time, duration_ms, ...known } = lines[0]!;
  assert.match(String(time), /Z$/);
  assert.equal(typeof duration_ms, "number");
  assert.deepEqual(known, {
    request_id: "r1",
    function: "agent-mesh",
    method: "POST",
    path: "/try",
    caller: "operator",
    status: 200,
    upstream: [],
  });
  assert.equal(JSON.stringify(lines).includes("secret"), false);
});
