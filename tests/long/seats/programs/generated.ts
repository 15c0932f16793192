/** Clients that generators create from the OpenAPI documents of the running functions. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { functionUrl } from "../../../conformance/client.ts";
import { FUNCTION_NAMES } from "../../../deploy/module_graph.ts";
import { runtimeIn, succeed, TOOLS } from "../../runtimes/tools.ts";
import type { Given, Outcome } from "../hand_over.ts";
import { ADAPTERS, HAND_OVER } from "./generated_sources.ts";

export type Generator = keyof typeof ADAPTERS;

/** The generators' programs, and their arguments for the client of one function. */
const COMMANDS: Readonly<
  Record<Generator, { readonly program: string; arguments(name: string): string[] }>
> = {
  orval: {
    program: "orval",
    arguments: (name) => ["--config", `orval.${name}.mjs`],
  },
  "@hey-api/openapi-ts": {
    program: "openapi-ts",
    arguments: (name) => ["--input", `../${name}.json`, "--output", name, "--silent"],
  },
  "openapi-typescript": {
    program: "openapi-typescript",
    arguments: (name) => [`../${name}.json`, "--output", `${name}.ts`],
  },
};

const TSCONFIG = {
  compilerOptions: {
    strict: true,
    noEmit: true,
    target: "ES2022",
    lib: ["ES2022", "DOM", "DOM.Iterable"],
    module: "ESNext",
    moduleResolution: "bundler",
    types: [],
  },
  include: ["**/*.ts"],
};

const orvalConfig = (name: string) =>
  `export default { it: {
  input: "../${name}.json",
  output: { target: "./${name}.ts", client: "fetch", baseUrl: ${
    JSON.stringify(functionUrl(`/${name}`))
  } },
} };`;

/** Saves the documents in a project, as a developer who generates clients does. */
export async function saveDocuments(folder: string): Promise<void> {
  for (const name of FUNCTION_NAMES) {
    const answer = await fetch(functionUrl(`/${name}/openapi.json`));
    await writeFile(join(folder, `${name}.json`), await answer.text());
  }
}

/**
 * Generates the clients of both functions, type-checks them together with the program that uses one
 * of them, and runs that program. The project must contain the generators.
 */
export async function byGenerated(
  folder: string,
  generator: Generator,
  given: Given,
): Promise<Outcome> {
  const cwd = join(folder, `generated-${generator.replace("/", "-")}`);
  await mkdir(cwd);
  // The machine's own Node may be too old for the generators.
  const node = runtimeIn(folder, "node22");
  const { program, arguments: argumentsOf } = COMMANDS[generator];
  const bin = (name: string) => join(folder, "node_modules/.bin", name);
  for (const name of FUNCTION_NAMES) {
    await writeFile(join(cwd, `orval.${name}.mjs`), orvalConfig(name));
    await succeed(node, [bin(program), ...argumentsOf(name)], { cwd });
  }
  await writeFile(join(cwd, "hand_over.ts"), HAND_OVER);
  await writeFile(join(cwd, "adapter.ts"), ADAPTERS[generator](functionUrl("/agent-artifacts")));
  await writeFile(join(cwd, "tsconfig.json"), JSON.stringify(TSCONFIG));
  await succeed(node, [bin("tsc"), "--project", "tsconfig.json"], { cwd });
  await writeFile(
    join(cwd, "main.js"),
    `import { handOver } from "./hand_over.ts";
import { operationsOf } from "./adapter.ts";
console.log(JSON.stringify(await handOver(operationsOf, JSON.parse(process.argv[2]))));`,
  );
  const bundle = ["main.js", "--bundle", "--format=esm", "--platform=node", "--outfile=main.mjs"];
  await succeed(bin("esbuild"), bundle, { cwd });
  const version = await succeed(node, [bin(program), "--version"], { cwd });
  const outcome = await succeed(node, ["main.mjs", JSON.stringify(given)], { cwd });
  return { version: versionIn(version, generator), ...JSON.parse(outcome) };
}

function versionIn(printed: string, generator: Generator): string {
  const version = /\d+\.\d+\.\d+\S*/.exec(printed)?.[0] ?? printed;
  return generator === "openapi-typescript"
    ? `${version}, openapi-fetch ${TOOLS["openapi-fetch"]}`
    : version;
}
