import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PACKAGES } from "../../dev/mesh/build_lwip.ts";
import { PROJECT } from "../../local/command/project.ts";
import { documentedBlock } from "./blocks/documentation.ts";

Deno.test("docs/sandbox.md, In TypeScript → compiles", async () => {
  const block = await documentedBlock("docs/sandbox.md, In TypeScript, 1");
  const directory = await Deno.makeTempDir();
  try {
    const source = join(PROJECT, "clients/typescript/src/mesh/index.ts");
    const text = block.replace('"agent-files/mesh"', `"${source}"`);
    const own = "declare function serve(socket: unknown, agentId: string): void;";
    await writeFile(
      join(directory, "example.ts"),
      `${text}\nvoid [socket, listener];\n${own}\n`,
    );
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["check", `--config=${join(PROJECT, "deno.json")}`, join(directory, "example.ts")],
    }).output();
    assert.equal(code, 0, new TextDecoder().decode(stderr));
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("docs/sandbox.md, Build it → the packages that `deno task mesh:build` asks for", async () => {
  const block = await documentedBlock("docs/sandbox.md, Build it, 1");
  assert.ok(block.includes(` ${PACKAGES}\n`));
  assert.match(block, /deno@[\d.]+ task mesh:build$/m);
});
