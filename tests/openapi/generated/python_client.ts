/** What openapi-python-client generates from both OpenAPI documents, and a program that uses it. */
import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { interpreter } from "../../../clients/python/tests/interpreter.ts";
import { functionUrl } from "../../conformance/client.ts";
import { FUNCTION_NAMES } from "../../deploy/module_graph.ts";
import type { Given, Outcome } from "../../long/seats/hand_over.ts";
import { succeed } from "../../long/runtimes/tools.ts";

const HERE = import.meta.dirname!;

export interface Document {
  readonly paths: Readonly<Record<string, object>>;
}

/** Runs a module or a program of the environment that has the generator. */
export async function python(cwd: string, ...args: string[]): Promise<string> {
  return await succeed(await interpreter(undefined, join(HERE, "requirements.txt")), args, { cwd });
}

/** Generates the client of a function as a package of the folder. */
export async function generate(folder: string, name: string, document: Document): Promise<void> {
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

export async function documentOf(name: string): Promise<Document> {
  return await (await fetch(functionUrl(`/${name}/openapi.json`))).json();
}

/** Puts both clients and the program that uses them into a folder. */
export async function prepare(folder: string): Promise<void> {
  for (const name of FUNCTION_NAMES) await generate(folder, name, await documentOf(name));
  await copyFile(join(HERE, "hand_over.py"), join(folder, "hand_over.py"));
}

/** The hand-over by the clients in a folder. */
export async function handOverIn(folder: string, given: Given): Promise<Outcome> {
  const [said, version] = [
    await python(folder, "hand_over.py", functionUrl(""), JSON.stringify(given)),
    await python(folder, "-m", "openapi_python_client", "--version"),
  ];
  return { ...JSON.parse(said), version: version.trim().split(" ").at(-1) };
}
