/** schemathesis, which makes requests of an OpenAPI document, and compares the answers with it. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { interpreter } from "../../clients/python/tests/interpreter.ts";
import { runProgram } from "../../packages/local/processes/run_program.ts";
import { PROJECT } from "../../packages/local/project.ts";
import { createAgent, functionUrl } from "../conformance/client.ts";

const REQUIREMENTS = join(PROJECT, "tests/openapi/requirements.txt");
const CHECKS = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_schema_conformance",
  "response_headers_conformance",
];
/** Always the same requests, unless the variable names another seed. */
const SEED = Deno.env.get("SEED") ?? "1";
/** For each document. */
const SECONDS = 40;

async function schemathesis(url: string, key: string, seconds = SECONDS) {
  const folder = await Deno.makeTempDir();
  try {
    return await runProgram(await interpreter(undefined, REQUIREMENTS), {
      args: [
        "-m",
        "schemathesis.cli",
        "run",
        `${url}/openapi.json`,
        `--url=${url}`,
        `--header=Authorization: Bearer ${key}`,
        `--checks=${CHECKS.join(",")}`,
        `--seed=${SEED}`,
        `--max-time=${seconds}`,
        "--max-examples=10",
        "--generation-database=none",
        "--no-shrink",
        "--no-color",
        "--continue-on-failure",
        // It ends the agent.
        "--exclude-path=/leave",
      ],
      cwd: folder,
      env: { SCHEMATHESIS_HOOKS: join(PROJECT, "tests/openapi/short_waits.py") },
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

for (const name of ["agent-artifacts", "agent-mesh"]) {
  Deno.test(`schemathesis with the document of ${name}, as an agent → no 5xx, and every answer is as described`, async () => {
    const { key } = await createAgent("schema");
    const { code, output, errors } = await schemathesis(functionUrl(`/${name}`), key);
    assert.equal(code, 0, output + errors);
    for (const phase of ["Examples", "Coverage", "Fuzzing", "Stateful"]) {
      assert.match(output, new RegExp(`✅ +${phase} \\(in`), output);
    }
  });
}

Deno.test("schemathesis with a service whose answer is not as its document says → it says so", async () => {
  const document = {
    openapi: "3.1.0",
    info: { title: "wrong", version: "1" },
    paths: { "/wrong": { get: { responses: { 200: { description: "as said" } } } } },
  };
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request) =>
      request.url.endsWith("/openapi.json")
        ? Response.json(document)
        : new Response(null, { status: 500 }),
  );
  const { code, output } = await schemathesis(`http://127.0.0.1:${server.addr.port}`, "ak_1", 5);
  assert.equal(code, 1, output);
  assert.match(output, /Undocumented status code/);
});
