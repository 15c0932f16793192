import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const FUNCTIONS = fileURLToPath(new URL("../../supabase/functions", import.meta.url));
const DENO_JSON = new URL("../../deno.json", import.meta.url);

interface Import {
  readonly file: string;
  readonly specifier: string;
}

interface ModuleGraph {
  readonly modules: readonly {
    readonly local?: string;
    readonly dependencies?: readonly { readonly specifier: string }[];
  }[];
}

/** Every import, of whatever kind, of the modules that the function's deployment is made of. */
async function readImports(name: string): Promise<Import[]> {
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", join(FUNCTIONS, name, "index.ts")],
  }).output();
  assert.equal(code, 0, name);
  const { modules } = JSON.parse(new TextDecoder().decode(stdout)) as ModuleGraph;
  return modules.flatMap(({ local: file, dependencies = [] }) =>
    file?.startsWith(FUNCTIONS) ? dependencies.map(({ specifier }) => ({ file, specifier })) : []
  );
}

Deno.test("the functions' imports → their own files, built-in modules, and names that deno.json pins", async () => {
  const { imports: pins } = JSON.parse(await readFile(DENO_JSON, "utf8")) as {
    imports: Record<string, string>;
  };
  const imports = (await Promise.all(["agent-artifacts", "agent-mesh"].map(readImports))).flat();
  assert.ok(imports.length > 100);
  const foreign = imports.filter(({ file, specifier }) => {
    if (specifier.startsWith(".")) {
      return !resolve(dirname(file), specifier).startsWith(FUNCTIONS);
    }
    return !specifier.startsWith("node:") && !(specifier in pins);
  });
  assert.deepEqual(foreign, []);
});

Deno.test("the pins of deno.json → npm packages of one exact version each", async () => {
  const { imports } = JSON.parse(await readFile(DENO_JSON, "utf8")) as {
    imports: Record<string, string>;
  };
  // No mapping of a whole folder of a package: the platform's bundler has refused those.
  const exact =
    /^npm:(?:@[a-z0-9-]+\/)?[a-z0-9-]+@\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\/[a-z/]*[a-z])?$/;
  assert.deepEqual(Object.values(imports).filter((specifier) => !exact.test(specifier)), []);
});

Deno.test("what the functions import late → named by a literal, or it would not be deployed with them", async () => {
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
