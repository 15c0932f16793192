/** The mesh in Python: pytest, on the stack, with the command line as it is installed. */
import assert from "node:assert/strict";
import { delimiter, join } from "node:path";
import { bundleCommandLine } from "../../../dev/clients/bundle.ts";
import { copySources } from "../../../dev/clients/client_sources.ts";
import { withFolder } from "../../../packages/agent-files/tests/folders/sample.ts";
import { runProgram } from "../../../packages/local/processes/run_program.ts";
import { SECRET_KEY, SUPABASE_URL } from "../../../tests/conformance/client.ts";
import { documentedBlock } from "../../../tests/docs/blocks/documentation.ts";
import { interpreter, PYTHON_ENVIRONMENT, PYTHON_PACKAGE } from "./interpreter.ts";

Deno.test("pytest → the mesh in asyncio, in trio and in threads, by a peer that ends with the program", () =>
  withFolder(async (folder) => {
    await using sources = await copySources();
    await bundleCommandLine(sources.path, join(folder, "agentfiles"));
    const { code, output, errors } = await runProgram(await interpreter(), {
      args: ["-m", "pytest", "--quiet", "--durations=5", join(PYTHON_PACKAGE, "tests/mesh")],
      cwd: PYTHON_PACKAGE,
      env: {
        ...PYTHON_ENVIRONMENT,
        PATH: `${folder}${delimiter}${Deno.env.get("PATH")}`,
        URL: SUPABASE_URL,
        SECRET_KEY,
        README_PROGRAM: await documentedBlock("clients/python/README.md, The mesh, 1"),
      },
    });
    console.log(output);
    assert.equal(code, 0, output + errors);
  }));
