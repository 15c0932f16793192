import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { PROJECT } from "../../../local/project.ts";
import { PASSED_OVER, readLostRequests } from "../../../operator/restore/lost_requests.ts";
import { readArtifactsSettings } from "../../../supabase/functions/agent-artifacts/settings.ts";
import type {
  Effect,
  Operation,
} from "../../../supabase/functions/_shared/operations/operation.ts";

const FUNCTIONS = join(PROJECT, "supabase/functions");

/** Operations that change something, but that need no review after a restore. */
const REPEATED_OR_COUNTED = [
  ...["/fetch", "/open", "/peer/heartbeat", "/register", "/sweep", "/wait", "/wg_config"],
];

/** Enough to create the operations, because none of them is called. */
const PLATFORM = {
  settings: readArtifactsSettings(
    new Map([
      ["SUPABASE_URL", "http://127.0.0.1:1"],
      ["SUPABASE_SECRET_KEYS", '{"default": "sb_secret_none"}'],
    ]),
  ),
};

/** The effect of each operation that the app of either function lists. */
async function readEffects(): Promise<Map<string, Effect>> {
  const effects = new Map<string, Effect>();
  for (const name of ["agent-artifacts", "agent-mesh"]) {
    const app = await readFile(join(FUNCTIONS, name, "app.ts"), "utf8");
    for (const [, path, file] of app.matchAll(/"(\/[^"]+)": \(\) => import\("([^"]+)"\)/g)) {
      const { createOperation } = await import(
        pathToFileURL(join(FUNCTIONS, name, file!)).href
      ) as { createOperation?: (platform: object) => Operation };
      // A link is not an operation.
      if (createOperation !== undefined) effects.set(path!, createOperation(PLATFORM).effect);
    }
  }
  return effects;
}

Deno.test("every operation that changes something → listed after a restore, but for those that are repeated or counted; no other is", async () => {
  const effects = await readEffects();
  assert.ok(effects.size >= 30, String(effects.size));
  const overlooked = Array.from(effects).filter(([path, effect]) =>
    effect !== "reads" && PASSED_OVER.has(path)
  );
  assert.deepEqual(overlooked.map(([path]) => path).sort(), REPEATED_OR_COUNTED);
  const readings = Array.from(effects).filter(([, effect]) => effect === "reads");
  assert.deepEqual(readings.filter(([path]) => !PASSED_OVER.has(path)), []);
});

const SINCE = "2026-01-31T03:00:00.000Z";
const LATER = "2026-01-31T04:00:00.000Z";

async function pathsIn(...lines: readonly (object | string)[]): Promise<string[]> {
  const file = await Deno.makeTempFile();
  try {
    const texts = lines.map((line) => typeof line === "string" ? line : JSON.stringify(line));
    await Deno.writeTextFile(file, texts.join("\n"));
    return (await readLostRequests(file, SINCE)).map(({ path, error }) =>
      error === null ? path : `${path} ${error}`
    );
  } finally {
    await Deno.remove(file);
  }
}

const ok = { time: LATER, status: 200 };

for (
  const [named, line, paths] of [
    ["/enroll", { ...ok, path: "/enroll" }, ["/enroll"]],
    ["/token", { ...ok, path: "/token" }, ["/token"]],
    ["a path that nobody knows yet", { ...ok, path: "/new" }, ["/new"]],
    ["a tool of MCP", { ...ok, path: "/mcp", operations: ["/register", "/commit"] }, ["/commit"]],
    ["a refused tool", { ...ok, path: "/mcp", operations: ["/grant"], error: "forbidden" }, [
      "/grant forbidden",
    ]],
    ["a tool that reads", { ...ok, path: "/mcp", operations: ["/list"] }, []],
    ["a message without a tool", { ...ok, path: "/mcp" }, []],
    ["a download by a link", { ...ok, path: "/d/:grant_token" }, []],
    ["no path", { ...ok, path: null, status: 200 }, []],
    ["a refusal", { ...ok, path: "/grant", status: 403 }, []],
    ["before the backup", { ...ok, path: "/grant", time: SINCE }, []],
    ["no line of the functions", "starting", []],
  ] as const
) {
  Deno.test(`readLostRequests() of ${named} → ${paths.join(", ") || "nothing"}`, async () => {
    assert.deepEqual(await pathsIn(line), paths);
  });
}
