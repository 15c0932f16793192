import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../../packages/local/project.ts";
import {
  functionEnvironment,
  readableVariables,
} from "../../../packages/local/stack/function_environment.ts";
import type { ProjectKeys } from "../../../packages/local/state/project_keys.ts";
import { PLATFORM_VARIABLES } from "../../../supabase/functions/_shared/request/settings/platform.ts";
import type { Variable } from "../../../supabase/functions/_shared/request/settings/variables.ts";
import { ARTIFACTS_VARIABLES } from "../../../supabase/functions/agent-artifacts/settings.ts";
import { MESH_VARIABLES } from "../../../supabase/functions/agent-mesh/settings.ts";
import { readPages, rowsUnder } from "./pages.ts";

const PLATFORM: readonly Variable<unknown>[] = Object.values(PLATFORM_VARIABLES);
const ARTIFACTS: readonly Variable<unknown>[] = Object.values(ARTIFACTS_VARIABLES);
const MESH: readonly Variable<unknown>[] = Object.values(MESH_VARIABLES);
const ALL = [...PLATFORM, ...ARTIFACTS, ...MESH];

/** The form of the names of this project's variables. A name of this form may still be unknown. */
const OWN_NAME =
  /^(?:(?:ACCEPT|ARTIFACTS|EVENTS|LOG|MCP|MESH|PSK|PUBLIC|RATE|USAGE|USER|WAITS|WEBHOOKS)_[A-Z_]+|MAINTENANCE)$/;

function namesOf(variables: readonly Variable<unknown>[]): string[] {
  return variables.map(({ name }) => name);
}

Deno.test("every variable → a name of this project's own, once", () => {
  const names = namesOf(ALL);
  assert.deepEqual(names.filter((name) => !OWN_NAME.test(name)), []);
  assert.deepEqual(names.filter((name, place) => names.indexOf(name) !== place), []);
});

Deno.test("the local stack → passes on every variable that is set, and no other", () => {
  const names = [...namesOf(ALL), "ARTIFACTS_UNKNOWN"];
  const { ARTIFACTS_UNKNOWN, ...environment } = functionEnvironment({
    url: "http://127.0.0.1",
    keys: {} as ProjectKeys,
    variables: Object.fromEntries(names.map((name) => [name, `value of ${name}`])),
  });
  for (const name of namesOf(ALL)) assert.equal(environment[name], `value of ${name}`);
  assert.equal(ARTIFACTS_UNKNOWN, undefined);
});

Deno.test("the local stack → each function may read its own variables, and not the other's", () => {
  const [artifacts, mesh] = ["agent-artifacts", "agent-mesh"].map(readableVariables);
  assert.deepEqual(artifacts, ["SUPABASE_*", ...namesOf(PLATFORM), ...namesOf(ARTIFACTS)]);
  assert.deepEqual(mesh, ["SUPABASE_*", ...namesOf(PLATFORM), ...namesOf(MESH)]);
});

Deno.test(".env.example → every variable, with a sentence and its default", async () => {
  const example = await readFile(join(PROJECT, "supabase/functions/.env.example"), "utf8");
  const named = Array.from(example.matchAll(/^(?:# )?([A-Z_]+)=/gm), ([, name]) => name);
  assert.deepEqual(named.toSorted(), namesOf(ALL).toSorted());
  for (const variable of ALL) {
    const assignment = `${variable.name}=${variable.default ?? ""}`;
    const lines = example.split("\n");
    const at = lines.findIndex((line) => line === assignment || line === `# ${assignment}`);
    assert.match(lines[at - 1] ?? "", /^# [A-Z].*\.$/, variable.name);
  }
});

Deno.test("the documentation's tables → every variable once, with its default", async () => {
  const rows = rowsUnder(/^variable$/, await readPages())
    .filter(([name = ""]) => OWN_NAME.test(name));
  assert.deepEqual(rows.map(([name]) => name).toSorted(), namesOf(ALL).toSorted());
  for (const variable of ALL) {
    const [, cell = ""] = rows.find(([name]) => name === variable.name)!;
    const text = cell.replaceAll("`", "");
    if (variable.default === null) assert.match(text, /^[a-z ]+$/, variable.name);
    else assert.equal(text, String(variable.default), variable.name);
  }
});
