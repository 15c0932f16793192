/** Clients in Python, which openapi-python-client generates from both OpenAPI documents. */
import assert from "node:assert/strict";
import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { interpreter } from "../../../clients/python/tests/interpreter.ts";
import { withFolder } from "../../../packages/agent-files/tests/folders/sample.ts";
import { functionUrl } from "../../conformance/client.ts";
import { FUNCTION_NAMES } from "../../deploy/module_graph.ts";
import { handOverBy } from "../../long/seats/hand_over.ts";
import { succeed } from "../../long/runtimes/tools.ts";

const HERE = import.meta.dirname!;

interface Document {
  readonly paths: Readonly<Record<string, object>>;
}

/** Runs a module or a program of the environment that has the generator. */
async function python(cwd: string, ...args: string[]): Promise<string> {
  return await succeed(await interpreter(undefined, join(HERE, "requirements.txt")), args, { cwd });
}

/** Generates the client of a function as a package of the folder. */
async function generate(folder: string, name: string, document: Document): Promise<void> {
  const file = join(folder, `${name}.json`);
  const config = join(folder, "config.json");
  await writeFile(file, JSON.stringify(document));
  await writeFile(config, JSON.stringify({ post_hooks: [] }));
  await python(
    folder,
    "-m",
    "openapi_python_client",
    "generate",
    "--path",
    file,
    "--config",
    config,
    "--meta",
    "none",
    "--output-path",
    name.replace("-", "_"),
    // Otherwise it leaves out what it does not understand.
    "--fail-on-warning",
  );
}

async function documentOf(name: string): Promise<Document> {
  return await (await fetch(functionUrl(`/${name}/openapi.json`))).json();
}

Deno.test("openapi-python-client with both documents → everything is generated, mypy finds no error, and one agent hands a file to another", () =>
  withFolder(async (folder) => {
    for (const name of FUNCTION_NAMES) await generate(folder, name, await documentOf(name));
    await copyFile(join(HERE, "hand_over.py"), join(folder, "hand_over.py"));
    const packages = FUNCTION_NAMES.map((name) => name.replace("-", "_"));
    await python(folder, "-m", "mypy", "--cache-dir=/dev/null", ...packages);
    const strict = ["--strict", "--follow-imports=silent", "hand_over.py"];
    await python(folder, "-m", "mypy", "--cache-dir=/dev/null", ...strict);
    await handOverBy(async (given) =>
      JSON.parse(await python(folder, "hand_over.py", functionUrl(""), JSON.stringify(given)))
    );
  }));

Deno.test("openapi-python-client with an operation that it does not understand → the run fails", () =>
  withFolder(async (folder) => {
    const { paths, ...document } = await documentOf("agent-mesh");
    const body = { content: { "application/unknown": { schema: { type: "object" } } } };
    const unknown = { post: { requestBody: body, responses: { 200: { description: "ok" } } } };
    const wrong = { ...document, paths: { ...paths, "/unknown": unknown } };
    await assert.rejects(generate(folder, "agent-mesh", wrong), /application\/unknown/);
  }));
