import { deepStrictEqual, ok } from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const FUNCTIONS = fileURLToPath(new URL("../../supabase/functions", import.meta.url));
const DENO_JSON = new URL("../../deno.json", import.meta.url);

interface Import {
  readonly file: string;
  readonly specifier: string;
}

/** Every import of the functions' modules, static, dynamic or re-exporting. */
async function readImports(): Promise<Import[]> {
  const imports: Import[] = [];
  for (const entry of await readdir(FUNCTIONS, { recursive: true, withFileTypes: true })) {
    if (!entry.name.endsWith(".ts")) continue;
    const file = join(entry.parentPath, entry.name);
    const { code, stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["info", "--json", "--no-remote", file],
    }).output();
    deepStrictEqual(code, 0, file);
    const graph = JSON.parse(new TextDecoder().decode(stdout)) as {
      modules: { local?: string; dependencies?: { specifier: string }[] }[];
    };
    const module = graph.modules.find(({ local }) => local === file);
    for (const { specifier } of module?.dependencies ?? []) imports.push({ file, specifier });
  }
  return imports;
}

Deno.test("the functions' imports → their own files, built-in modules, and names that deno.json pins", async () => {
  const { imports: pins } = JSON.parse(await readFile(DENO_JSON, "utf8")) as {
    imports: Record<string, string>;
  };
  const imports = await readImports();
  ok(imports.length > 100);
  const foreign = imports.filter(({ file, specifier }) => {
    if (specifier.startsWith(".")) {
      return !resolve(dirname(file), specifier).startsWith(FUNCTIONS);
    }
    const isPinned = Object.keys(pins).some((name) =>
      name === specifier || (name.endsWith("/") && specifier.startsWith(name))
    );
    return !specifier.startsWith("node:") && !isPinned;
  });
  deepStrictEqual(foreign, []);
});

Deno.test("the pins of deno.json → npm packages of one exact version each", async () => {
  const { imports } = JSON.parse(await readFile(DENO_JSON, "utf8")) as {
    imports: Record<string, string>;
  };
  const exact = /^npm:\/?(?:@[a-z0-9-]+\/)?[a-z0-9-]+@\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?\/?$/;
  deepStrictEqual(Object.values(imports).filter((specifier) => !exact.test(specifier)), []);
});
