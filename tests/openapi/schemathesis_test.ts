/** schemathesis, which makes requests of an OpenAPI document, and compares the answers with it. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { interpreter } from "../../clients/python/tests/interpreter.ts";
import { runProgram } from "../../packages/local/processes/run_program.ts";
import { PROJECT } from "../../packages/local/project.ts";
import { createAgent, functionUrl } from "../conformance/client.ts";
import { join as joinMesh } from "../conformance/mesh_cast.ts";

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
const ALONE = ["Examples", "Coverage", "Fuzzing"] as const;
/** Requests that follow on each other, with what the answers before have named (hooks.py). */
const FOLLOWING = ["Stateful"] as const;

interface Runs {
  readonly phases?: readonly string[];
  readonly seconds: number;
}

async function schemathesis(url: string, key: string, { phases = ALONE, seconds }: Runs) {
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
        `--phases=${phases.join(",").toLowerCase()}`,
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
      env: {
        SCHEMATHESIS_HOOKS: join(PROJECT, "tests/openapi/hooks.py"),
        ...(phases === FOLLOWING && { STATEFUL: "1" }),
      },
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

for (const name of ["agent-artifacts", "agent-mesh"]) {
  Deno.test(`schemathesis with the document of ${name}, as an agent → no 5xx, and every answer is as described`, async () => {
    const agent = await createAgent("schema");
    for (const [phases, seconds] of [[ALONE, 40], [FOLLOWING, 20]] as const) {
      const url = functionUrl(`/${name}`);
      // Without a peer, no request of the mesh leads to another.
      if (name === "agent-mesh") await joinMesh(agent);
      const { code, output, errors } = await schemathesis(url, agent.key, { phases, seconds });
      assert.equal(code, 0, output + errors);
      for (const phase of phases) assert.match(output, new RegExp(`✅ +${phase} \\(in`), output);
      if (phases === FOLLOWING) assert.match(output, /API Links: +[1-9]\d* covered/, output);
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
  const { code, output } = await schemathesis(`http://127.0.0.1:${server.addr.port}`, "ak_1", {
    seconds: 5,
  });
  assert.equal(code, 1, output);
  assert.match(output, /Undocumented status code/);
});
