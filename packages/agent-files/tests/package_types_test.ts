/** The built package, as strict programs compile it. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import ts from "typescript";
import { buildClient } from "../../../dev/clients/build_client.ts";
import { CLIENT, isSource } from "../../../dev/clients/client_sources.ts";
import { PROJECT } from "../../local/project.ts";

const DIST = join(CLIENT, "dist/agent-files");

Deno.test("agent-files, agent-files/proxy, agent-files/testing with skipLibCheck: false and types: [] → no error; a bundle for browsers and workers without a computed import", async () => {
  await buildClient();
  for (const moduleResolution of ["Bundler", "NodeNext"] as const) {
    const program = ts.createProgram(
      ["index.d.ts", "proxy/index.d.ts", "testing/index.d.ts"].map((file) => join(DIST, file)),
      {
        skipLibCheck: false,
        types: [],
        strict: true,
        noEmit: true,
        exactOptionalPropertyTypes: true,
        lib: ["lib.es2022.d.ts", "lib.dom.d.ts"],
        target: ts.ScriptTarget.ES2022,
        module: moduleResolution === "Bundler" ? ts.ModuleKind.ESNext : ts.ModuleKind.NodeNext,
        moduleResolution: ts.ModuleResolutionKind[moduleResolution],
      },
    );
    const errors = ts.getPreEmitDiagnostics(program).map(({ file, messageText }) =>
      `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`
    );
    assert.deepEqual(errors, [], moduleResolution);
    assert.ok(program.getSourceFiles().length > 10, "the declarations are found");
  }
  await assertTestingApart();
  const chunks = (await readdir(join(DIST, "chunks"))).map((name) => `chunks/${name}`);
  for (const file of ["index.js", ...chunks]) {
    const source = await readFile(join(DIST, file), "utf8");
    const computed = source.matchAll(/\bimport\(\s*(?!\s*["'])[^)]{0,40}/g);
    assert.deepEqual(Array.from(computed, ([text]) => text), [], file);
  }
});

/** Only `testing/index.js` has the service inside the process, and both have one AgentError. */
async function assertTestingApart(): Promise<void> {
  const [index, testing] = await Promise.all(
    ["index.js", "testing/index.js"].map((file) => import(join(DIST, file))),
  );
  const loaded = await moduleTexts(join(DIST, "index.js"));
  assert.equal(loaded.some((text) => text.includes("testing.invalid")), false);
  const files = new testing.InProcessService().files("planner");
  assert.ok(files instanceof index.AgentFiles);
  await assert.rejects(files.leave(), index.AgentError);
}

/** A module and those that it always loads. */
async function moduleTexts(file: string): Promise<string[]> {
  const text = await readFile(file, "utf8");
  const imports = text.matchAll(/^(?:import|export)\b[^;]*?"(\.[^"]+)";/gm);
  const below = Array.from(imports, ([, path]) => moduleTexts(join(dirname(file), path!)));
  return [text, ...(await Promise.all(below)).flat()];
}

/** "Do you need to change your target library?", of a property, a type and a name. */
const TOO_NEW = [2550, 2583, 2568];

for (const name of ["agent-files", "agent-peer", "cli", "command", "operator"]) {
  const folder = `packages/${name}`;
  Deno.test(`${folder} with the library of ES2023, which Node 20 has → nothing newer is used`, async () => {
    const source = join(PROJECT, folder);
    const files = (await readdir(source, { recursive: true }))
      .filter((name) => name.endsWith(".ts") && isSource(join(source, name)));
    const program = ts.createProgram(files.map((name) => join(source, name)), {
      lib: ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts", "lib.dom.d.ts"],
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      types: [],
      strict: true,
      noEmit: true,
      allowImportingTsExtensions: true,
    });
    const newer = program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(source))
      .flatMap((file) => program.getSemanticDiagnostics(file))
      .filter(({ code }) => TOO_NEW.includes(code))
      .map(({ file, messageText }) =>
        `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`
      );
    assert.deepEqual(newer, []);
    assert.ok(files.length > 10, "the sources are found");
  });
}
