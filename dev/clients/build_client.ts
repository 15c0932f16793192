import { chmod, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import ts from "typescript";
import { CommandError } from "../../packages/command/command_error.ts";
import { ensureLwip } from "../mesh/build_lwip.ts";
import { PROJECT } from "../../packages/local/project.ts";
import { runTask } from "../../packages/command/run_task.ts";
import { bundlePackage } from "./bundle.ts";
import { CLIENT, copySources, isSource } from "./client_sources.ts";

const TARGET = join(CLIENT, "dist");

/** Isolated: the declarations of a file depend on that file alone. */
const DECLARATION_OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  verbatimModuleSyntax: true,
  declaration: true,
  isolatedDeclarations: true,
};

/**
 * Makes `dist/` of the TypeScript client: bundled JavaScript, the library's declarations, and the
 * licences of the bundled packages. The sandbox peer is in it if its TCP/IP stack has been built.
 * Throws CommandError.
 */
export async function buildClient(): Promise<void> {
  await using sources = await copySources();
  await rm(TARGET, { recursive: true, force: true });
  await mkdir(TARGET);
  const licences = await bundlePackage(sources.path, TARGET);
  await writeFile(join(TARGET, "THIRD-PARTY-LICENSES.txt"), licences);
  for (const file of await libraryFiles()) await declare(file);
  // npm turns this file into a command.
  await chmod(join(TARGET, "cli/main.js"), 0o755);
  console.log(`The client is in ${relative(PROJECT, TARGET)}`);
}

const PACKAGES = join(PROJECT, "packages");

/** The sources of the library, relative to `packages/`. */
async function libraryFiles(): Promise<string[]> {
  const folders = await Promise.all(["agent-files", "agent-peer"].map(async (folder) => {
    const files = await readdir(join(PACKAGES, folder), { recursive: true });
    return files.map((file) => join(folder, file));
  }));
  return folders.flat().filter((file) => file.endsWith(".ts") && isSource(join(PACKAGES, file)));
}

async function declare(file: string): Promise<void> {
  const source = await readFile(join(PACKAGES, file), "utf8");
  const { outputText, diagnostics } = ts.transpileDeclaration(source, {
    fileName: file,
    reportDiagnostics: true,
    compilerOptions: DECLARATION_OPTIONS,
  });
  const [problem] = diagnostics ?? [];
  if (problem !== undefined) {
    const text = ts.flattenDiagnosticMessageText(problem.messageText, " ");
    throw new CommandError(`${file}: ${text}`);
  }
  const target = join(TARGET, file.replace(/\.ts$/, ".d.ts"));
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, withBuiltImports(outputText));
}

function withBuiltImports(source: string): string {
  return source.replaceAll(/(\bfrom |\bimport\()"(\.[^"]+)\.ts"/g, '$1"$2.js"');
}

if (import.meta.main) {
  await runTask({
    task: "client:build",
    summary: "Make dist/ of the TypeScript client.",
    example: "deno task client:build",
    run: async () => {
      const missing = await ensureLwip(null);
      await buildClient();
      if (missing !== null) console.error(missing);
    },
  });
}
