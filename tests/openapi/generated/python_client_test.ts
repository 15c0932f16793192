/** Clients in Python, which openapi-python-client generates from both OpenAPI documents. */
import assert from "node:assert/strict";
import { withFolder } from "../../../packages/agent-files/tests/folders/sample.ts";
import { FUNCTION_NAMES } from "../../deploy/module_graph.ts";
import { handOverBy } from "../../long/seats/hand_over.ts";
import { documentOf, generate, handOverIn, prepare, python } from "./python_client.ts";

Deno.test("openapi-python-client with both documents → everything is generated, mypy finds no error, and one agent hands a file to another", () =>
  withFolder(async (folder) => {
    await prepare(folder);
    const packages = FUNCTION_NAMES.map((name) => name.replace("-", "_"));
    await python(folder, "-m", "mypy", "--cache-dir=/dev/null", ...packages);
    const strict = ["--strict", "--follow-imports=silent", "hand_over.py"];
    await python(folder, "-m", "mypy", "--cache-dir=/dev/null", ...strict);
    await handOverBy((given) => handOverIn(folder, given));
  }));

Deno.test("openapi-python-client with an operation that it does not understand → the run fails", () =>
  withFolder(async (folder) => {
    const { paths, ...document } = await documentOf("agent-mesh");
    const body = { content: { "application/unknown": { schema: { type: "object" } } } };
    const unknown = { post: { requestBody: body, responses: { 200: { description: "ok" } } } };
    const wrong = { ...document, paths: { ...paths, "/unknown": unknown } };
    await assert.rejects(generate(folder, "agent-mesh", wrong), /application\/unknown/);
  }));
