/** TypeScript examples of the documentation. One process type-checks all of a test file. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PROJECT } from "../../../packages/local/project.ts";
import { runProgram } from "../../../packages/local/processes/run_program.ts";

const examples: { readonly name: string; readonly text: () => Promise<string> }[] = [];
let checked: Promise<ReadonlyMap<string, string>> | undefined;

/**
 * Defines a test that an example compiles. A check takes five seconds of processor time, most of
 * it for what all examples import, so the first of these tests checks the examples of all.
 */
export function testThatItCompiles(name: string, text: () => Promise<string>): void {
  examples.push({ name, text });
  Deno.test(`${name} → compiles`, async () => {
    const complaints = await (checked ??= checkAll());
    assert.equal(complaints.get(name), undefined);
  });
}

/** Resolves to what is said of the examples that do not compile, by their names. */
async function checkAll(): Promise<ReadonlyMap<string, string>> {
  const folder = await mkdtemp(join(tmpdir(), "agent-mesh-examples-"));
  try {
    const files = await Promise.all(examples.map(async ({ text }, index) => {
      const file = join(folder, `example_${index}.ts`);
      // A module, so that no example sees what another one declares.
      await writeFile(file, `${await text()}\nexport {};\n`);
      return file;
    }));
    const config = `--config=${join(PROJECT, "tests/deno.json")}`;
    const { code, errors } = await runProgram(Deno.execPath(), {
      args: ["check", config, ...files],
      env: { NO_COLOR: "1" },
    });
    const failed = code === 0
      ? []
      : examples.filter((_, index) => errors.includes(`/example_${index}.ts:`));
    // An error elsewhere concerns them all.
    const concerned = code !== 0 && failed.length === 0 ? examples : failed;
    return new Map(concerned.map(({ name }) => [name, errors]));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
