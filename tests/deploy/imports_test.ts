import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../packages/local/project.ts";
import { readPins } from "../../dev/pins/pins.ts";
import { FUNCTION_NAMES, readModules } from "./module_graph.ts";

const FUNCTIONS = join(PROJECT, "supabase", "functions");

interface DenoConfiguration {
  readonly lock?: unknown;
  readonly imports: Readonly<Record<string, string>>;
}

async function readConfiguration(file: string): Promise<DenoConfiguration> {
  return JSON.parse(await readFile(file, "utf8"));
}

for (const name of FUNCTION_NAMES) {
  const file = join(FUNCTIONS, name, "deno.json");

  Deno.test(`the imports of ${name} → its own files, built-in modules, and all that its deno.json lists`, async () => {
    const { imports } = await readConfiguration(file);
    const { foreignImports } = await readModules(name);
    const packages = foreignImports.filter(({ specifier }) => !specifier.startsWith("node:"));
    assert.ok(packages.length > 10);
    assert.deepEqual(
      [...new Set(packages.map(({ specifier }) => specifier))].sort(),
      Object.keys(imports).sort(),
    );
  });
}

const OWN_CONFIGURATIONS = [
  ...FUNCTION_NAMES.map((name) => join("supabase", "functions", name, "deno.json")),
  join("tests", "bench", "bare", "deno.json"),
];
for (const path of OWN_CONFIGURATIONS) {
  Deno.test(`${path} → the project's pins, and no lock file`, async () => {
    const { imports, ...rest } = await readConfiguration(join(PROJECT, path));
    const pins = await readPins();
    assert.deepEqual(
      imports,
      Object.fromEntries(Object.keys(imports).map((specifier) => [specifier, pins[specifier]])),
    );
    // Some Edge Runtime releases refuse the lock file format of this Deno.
    assert.deepEqual(rest, { lock: false });
  });
}

Deno.test("the pins of the project → npm packages of one exact version each", async () => {
  const pins = Object.values(await readPins());
  assert.ok(pins.length > 40);
  // No import may map a whole folder of a package: the platform's bundler refused that.
  const exact =
    /^npm:(?:@[a-z0-9-]+\/)?[a-z0-9-]+@\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\/[A-Za-z0-9_./-]*[A-Za-z0-9])?$/;
  assert.deepEqual(pins.filter((specifier) => !exact.test(specifier)), []);
});

Deno.test("every late import of the functions → named by a literal, or the file would not be deployed", async () => {
  const entries = await readdir(FUNCTIONS, { recursive: true, withFileTypes: true });
  const sources = entries.filter(({ name }) => name.endsWith(".ts"));
  const lateImports = (await Promise.all(
    sources.map(async ({ parentPath, name }) => {
      const source = await readFile(join(parentPath, name), "utf8");
      return Array.from(source.matchAll(/\bimport\(\s*(\S)/g), ([, first]) => ({ name, first }));
    }),
  )).flat();
  assert.ok(lateImports.length > 18);
  assert.deepEqual(lateImports.filter(({ first }) => first !== '"'), []);
});
