import assert from "node:assert/strict";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../packages/local/project.ts";
import { runProgram } from "../../packages/local/processes/run_program.ts";
import { type Agent, createAgent, SUPABASE_URL } from "../conformance/client.ts";
import { withFolder } from "../../packages/agent-files/tests/folders/sample.ts";
import { documentedBlock } from "./blocks/documentation.ts";

Deno.test("clients/python/README.md, both blocks → the files and the folder, at the other agent", () =>
  withFolder(async (folder) => {
    const [planner, builder] = [await createAgent("planner"), await createAgent("builder")];
    await mkdir(join(folder, "drawings"));
    await writeFile(join(folder, "drawings/cellar"), "deep");
    await writeFile(join(folder, "house.txt"), "First the cellar.");
    const sending = await documentedBlock("clients/python/README.md, agent_files, 1");
    const output = await run(sending.replaceAll('"builder"', `"${builder.id}"`), planner, folder);
    assert.match(
      output,
      /^left out: \[\]\ndrawings\.tar [0-9]+\nnotes\.txt 19\nplans\/house\.txt 17\n$/,
    );
    await mkdir(join(folder, "builder"));
    const receiving = await documentedBlock("clients/python/README.md, agent_files, 2");
    await run(receiving, builder, join(folder, "builder"));
    const [file, ...others] = (await readdir(join(folder, "builder"))).sort();
    assert.match(file!, /^art_/);
    assert.equal(others.length, 2);
    const drawn = join(folder, "builder/received-drawings/cellar");
    assert.equal(await readFile(drawn, "utf8"), "deep");
  }));

async function run(script: string, agent: Agent, folder: string): Promise<string> {
  const { code, output, errors } = await runProgram("python3", {
    args: ["-c", script],
    cwd: folder,
    env: {
      PYTHONPATH: join(PROJECT, "clients/python"),
      PYTHONDONTWRITEBYTECODE: "1",
      AGENT_URL: SUPABASE_URL,
      AGENT_KEY: agent.key,
    },
  });
  assert.equal(code, 0, errors);
  return output;
}
