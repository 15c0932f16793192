import { chmod, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import ts from "typescript";
import { CommandError } from "../../local/command/command_error.ts";
import { PROJECT } from "../../local/command/project.ts";
import { runTask } from "../../local/command/run_task.ts";

const SOURCE = join(PROJECT, "clients/typescript/src");
const TARGET = join(PROJECT, "clients/typescript/dist");

/** The platforms that the package names: Node 20 is the oldest. */
const COMPILER_OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  verbatimModuleSyntax: true,
};

/** So that the declarations of a file follow from it alone. */
const DECLARATION_OPTIONS = { ...COMPILER_OPTIONS, declaration: true, isolatedDeclarations: true };

/** Makes `dist/` of the TypeScript client: JavaScript and declarations, each file by itself. */
async function build(): Promise<void> {
  await rm(TARGET, { recursive: true, force: true });
  const entries = await readdir(SOURCE, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  for (const file of files) await transpile(file);
  // What npm makes a command of.
  await chmod(join(TARGET, "cli/main.js"), 0o755);
  console.log(`${files.length} modules in ${relative(PROJECT, TARGET)}`);
}

async function transpile(file: string): Promise<void> {
  const source = await readFile(file, "utf8");
  const options = { fileName: file, reportDiagnostics: true };
  const script = ts.transpileModule(source, { ...options, compilerOptions: COMPILER_OPTIONS });
  const declaration = ts.transpileDeclaration(source, {
    ...options,
    compilerOptions: DECLARATION_OPTIONS,
  });
  const [problem] = [...script.diagnostics ?? [], ...declaration.diagnostics ?? []];
  if (problem !== undefined) {
    const text = ts.flattenDiagnosticMessageText(problem.messageText, " ");
    throw new CommandError(`${relative(PROJECT, file)}: ${text}`);
  }
  const target = join(TARGET, relative(SOURCE, file)).replace(/\.ts$/, "");
  await mkdir(dirname(target), { recursive: true });
  await writeFile(`${target}.js`, withBuiltImports(script.outputText));
  await writeFile(`${target}.d.ts`, withBuiltImports(declaration.outputText));
}

/** The compiler's own way wraps imports whose name is no literal, and leaves declarations alone. */
function withBuiltImports(source: string): string {
  return source.replaceAll(/(\bfrom |\bimport\()"(\.[^"]+)\.ts"/g, '$1"$2.js"');
}

await runTask({
  task: "client:build",
  summary: "Make dist/ of the TypeScript client.",
  example: "deno task client:build",
  run: build,
});
