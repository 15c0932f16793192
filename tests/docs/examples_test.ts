import assert from "node:assert/strict";
import { join } from "node:path";
import { runProgram } from "../../packages/local/processes/run_program.ts";
import { PROJECT } from "../../packages/local/project.ts";
import { testThatItCompiles } from "./blocks/compiles.ts";
import { documentedBlock } from "./blocks/documentation.ts";

const FILES = join(PROJECT, "packages/agent-files/index.ts");
const FILES_TESTING = join(PROJECT, "packages/agent-files/testing/index.ts");
const MESH = join(PROJECT, "packages/agent-peer/mesh/index.ts");

/** The example with the sources in place of the packages. */
function withSources(block: string): string {
  return block
    .replace('"agent-files"', JSON.stringify(FILES))
    .replace('"agent-files/testing"', JSON.stringify(FILES_TESTING))
    .replace('"agent-files/mesh"', JSON.stringify(MESH));
}

function testOfProgram(): Promise<string> {
  return documentedBlock("packages/agent-files/README.md, Tests of your program, 1");
}

testThatItCompiles(
  "packages/agent-files/README.md, agent-files",
  async () => withSources(await documentedBlock("packages/agent-files/README.md, agent-files, 1")),
);

testThatItCompiles(
  "packages/agent-files/README.md, Tasks",
  async () => withSources(await documentedBlock("packages/agent-files/README.md, Tasks, 1")),
);

testThatItCompiles(
  "packages/agent-files/README.md, Tests of your program",
  async () => withSources(await testOfProgram()),
);

Deno.test("packages/agent-files/README.md, Tests of your program → the reply", async () => {
  const program = withSources(await testOfProgram());
  const { code, output, errors } = await runProgram(Deno.execPath(), {
    args: ["eval", `--config=${join(PROJECT, "tests/deno.json")}`, "--ext=ts", program],
  });
  assert.equal(code, 0, errors);
  assert.equal(output, "replies/plan.txt\n");
});

testThatItCompiles(
  "packages/agent-files/README.md, The mesh",
  async () => withSources(await documentedBlock("packages/agent-files/README.md, The mesh, 1")),
);

testThatItCompiles("docs/sandbox.md, In TypeScript", async () => {
  const block = withSources(await documentedBlock("docs/sandbox.md, In TypeScript, 1"));
  const own = "declare function serve(socket: unknown, agentId: string): void;";
  return `${block}\n${own} void [socket, listener];`;
});

testThatItCompiles("docs/sandbox.md, Serve requests", async () => {
  const block = withSources(await documentedBlock("docs/sandbox.md, Serve requests, 1"));
  return `${block}\nimport type { Mesh } from "${MESH}"; declare const mesh: Mesh; void listener;`;
});

testThatItCompiles("docs/sandbox.md, UDP", async () => {
  const block = withSources(await documentedBlock("docs/sandbox.md, UDP, 1"));
  const declarations = [
    `import type { Mesh } from "${MESH}";`,
    "declare const mesh: Mesh, question: Uint8Array;",
    "declare function answerTo(data: Uint8Array, agentId: string): Uint8Array;",
    "void answer;",
  ];
  return `${block}\n${declarations.join("\n")}`;
});
