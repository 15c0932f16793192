/** The real TypeScript frameworks, in one project of npm, and programs that use them. */
import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { runProgram } from "../../../packages/local/processes/run_program.ts";
import { PROJECT } from "../../../packages/local/project.ts";
import { documentedBlock } from "../../docs/blocks/documentation.ts";

const HERE = import.meta.dirname!;
const PINS = join(HERE, "npm");
const FILES = ["package.json", "package-lock.json"] as const;
/** The frameworks do not run on the Node 20 that is enough for this project. */
const NODE = "node_modules/node24/bin";

/** By the names of their packages, which are their sections on the page. */
export const TYPESCRIPT_FRAMEWORKS = [
  "ai",
  "@openai/agents",
  "@mastra/core",
  "@langchain/langgraph",
  "@google/adk",
] as const;

export type TypeScriptFramework = typeof TYPESCRIPT_FRAMEWORKS[number];

/** What takes the place of the model that each program names: its module, and its expression. */
const SCRIPTED: Readonly<Record<TypeScriptFramework, readonly [string, string, string]>> = {
  "ai": ['"openai/gpt-5.2"', "scripted_ai", "scriptedModel"],
  "@openai/agents": ['"gpt-5.2"', "scripted_openai", "new Scripted()"],
  "@mastra/core": ['"openai/gpt-5.2"', "scripted_ai", "scriptedModel"],
  "@langchain/langgraph": ['"openai:gpt-5.2"', "scripted_langchain", "new Scripted()"],
  "@google/adk": ['"gemini-3-pro"', "scripted_adk", "new Scripted()"],
};

/** What ADK prints when it closes a session whose GET has no answer yet. */
const CLOSING = /^.*\[ADK\].* MCP transport error: This operation was aborted\n/gm;

let installed: Promise<string> | null = null;

/** Resolves to the folder in `.local/` that has the frameworks. Downloads them if it is missing. */
function frameworks(): Promise<string> {
  return installed ??= install();
}

async function install(): Promise<string> {
  const lock = await readFile(join(PINS, "package-lock.json"));
  const digest = createHash("sha256").update(lock).digest("hex").slice(0, 12);
  const parent = join(PROJECT, ".local/npm");
  const folder = join(parent, digest);
  if (existsSync(folder)) return folder;
  // Several test processes may do this at once: the first one that is ready wins.
  const temporary = join(parent, `${digest}.${randomUUID()}`);
  await mkdir(temporary, { recursive: true });
  for (const name of FILES) await cp(join(PINS, name), join(temporary, name));
  const { code, errors } = await runProgram("npm", {
    args: ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=5"],
    cwd: temporary,
  });
  assert.equal(code, 0, errors);
  await rename(temporary, folder).catch(async (error) => {
    await rm(temporary, { recursive: true });
    if (!existsSync(folder)) throw error;
  });
  return folder;
}

/** The version of a framework that is installed. */
export async function versionOf(name: TypeScriptFramework): Promise<string> {
  const file = join(await frameworks(), "node_modules", name, "package.json");
  return JSON.parse(await readFile(file, "utf8")).version;
}

/** The program of a section of the page, with a model that is a script. */
export async function programOf(framework: TypeScriptFramework): Promise<string> {
  const block = await documentedBlock(`docs/frameworks.md, ${framework}, 1`);
  const [model, module, scripted] = SCRIPTED[framework];
  assert.equal(block.split(model).length, 2, model);
  const name = scripted.replace(/^new |\(\)$/g, "");
  return `import { ${name} } from "./${module}.mjs";\n${block.replace(model, scripted)}`;
}

/** What a program prints itself. */
export function withoutLog(output: string): string {
  return output.replaceAll(CLOSING, "");
}

/**
 * Runs a program as a reader does who has saved it as `agent.mjs`: by commands of a shell, with
 * Node. The scripted models are beside it.
 */
export async function runAgent(
  program: string,
  { commands, env, path = [] }: {
    readonly commands: string;
    readonly env: Readonly<Record<string, string>>;
    readonly path?: readonly string[];
  },
) {
  const project = await frameworks();
  const folder = await mkdtemp(join(project, "run-"));
  try {
    await cp(join(HERE, "typescript"), folder, { recursive: true });
    await writeFile(join(folder, "agent.mjs"), program);
    return await runProgram("sh", {
      args: ["-euc", commands],
      cwd: folder,
      env: {
        ...env,
        PATH: [...path, join(project, NODE), Deno.env.get("PATH")].join(delimiter),
        // No framework reports to anybody.
        OPENAI_AGENTS_DISABLE_TRACING: "1",
        LANGSMITH_TRACING: "false",
        MASTRA_TELEMETRY_DISABLED: "1",
        OTEL_SDK_DISABLED: "true",
      },
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}
