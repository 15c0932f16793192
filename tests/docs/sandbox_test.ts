import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../packages/local/project.ts";
import { documentedBlock } from "./blocks/documentation.ts";

const ENTRY = join(PROJECT, "packages/agent-peer/mesh/index.ts");

/** Type-checks an example with these declarations. Unused variables are allowed. */
async function assertCompiles(block: string, declarations = ""): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    const file = join(directory, "example.ts");
    const text = block.replace('"agent-files/mesh"', `"${ENTRY}"`);
    await writeFile(file, `${text}\n${declarations}\n`);
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["check", `--config=${join(PROJECT, "tests/deno.json")}`, file],
    }).output();
    assert.equal(code, 0, new TextDecoder().decode(stderr));
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("docs/sandbox.md, In TypeScript → compiles", async () => {
  const own = "declare function serve(socket: unknown, agentId: string): void;";
  await assertCompiles(
    await documentedBlock("docs/sandbox.md, In TypeScript, 1"),
    `${own} void [socket, listener];`,
  );
});

Deno.test("docs/sandbox.md, Serve requests → compiles", async () => {
  const imported = `import type { Mesh } from "${ENTRY}"; declare const mesh: Mesh;`;
  await assertCompiles(
    await documentedBlock("docs/sandbox.md, Serve requests, 1"),
    `${imported} void listener;`,
  );
});

Deno.test("docs/sandbox.md, UDP → compiles", async () => {
  const declarations = [
    `import type { Mesh } from "${ENTRY}";`,
    "declare const mesh: Mesh, question: Uint8Array;",
    "declare function answerTo(data: Uint8Array, agentId: string): Uint8Array;",
    "void answer;",
  ];
  await assertCompiles(
    await documentedBlock("docs/sandbox.md, UDP, 1"),
    declarations.join("\n"),
  );
});

Deno.test("packages/agent-files/README.md, The mesh → compiles", async () => {
  await assertCompiles(await documentedBlock("packages/agent-files/README.md, The mesh, 1"));
});
