import assert from "node:assert/strict";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { interpreter, PYTHON_ENVIRONMENT } from "../../clients/python/tests/interpreter.ts";
import { runProgram } from "../../packages/local/processes/run_program.ts";
import { type Agent, createAgent, SUPABASE_URL } from "../conformance/client.ts";
import { collect, filesOf } from "../../packages/agent-files/tests/cast.ts";
import { withFolder } from "../../packages/agent-files/tests/folders/sample.ts";
import { documentedBlock } from "./blocks/documentation.ts";

Deno.test("clients/python/README.md, the first blocks → the files and the folder, at the other agent", () =>
  withFolder(async (folder) => {
    const [planner, builder] = [await createAgent("planner"), await createAgent("builder")];
    await mkdir(join(folder, "drawings"));
    await writeFile(join(folder, "drawings/cellar"), "deep");
    await writeFile(join(folder, "house.txt"), "First the cellar.");
    const sending = await documentedBlock("clients/python/README.md, agent_files, 2");
    const output = await run(sending.replaceAll('"builder"', `"${builder.id}"`), planner, folder);
    assert.match(
      output,
      /^left out: \[\]\ndrawings\.tar [0-9]+\nnotes\.txt 19\nplans\/house\.txt 17\n$/,
    );
    await mkdir(join(folder, "builder"));
    const receiving = await documentedBlock("clients/python/README.md, agent_files, 3");
    await run(receiving, builder, join(folder, "builder"));
    const [file, ...others] = (await readdir(join(folder, "builder"))).sort();
    assert.match(file!, /^art_/);
    assert.equal(others.length, 2);
    const drawn = join(folder, "builder/received-drawings/cellar");
    assert.equal(await readFile(drawn, "utf8"), "deep");
  }));

Deno.test("clients/python/README.md, asyncio and tasks → the file, and a reply to the giver", () =>
  withFolder(async (folder) => {
    const [planner, builder] = [await createAgent("planner"), await createAgent("builder")];
    const giver = filesOf(planner);
    const given = await giver.put("plan", "a house", { to: [builder.id] });
    const receiving = await documentedBlock("clients/python/README.md, In asyncio and trio, 1");
    assert.equal(await run(receiving, builder, folder), "plan\n");
    assert.equal(await readFile(join(folder, given.artifact_id), "utf8"), "a house");

    const working = await documentedBlock("clients/python/README.md, Tasks, 1");
    await run(working, builder, folder);
    const [reply] = await collect(giver.inbox());
    assert.deepEqual([reply?.note, reply?.reply_to], ["As planned.", given.grants[0]?.grant_id]);
    const { body } = await giver.get(reply!.artifact_id);
    assert.equal(await new Response(body).text(), "A HOUSE");
  }));

Deno.test("clients/python/README.md, Tests of your program → pytest passes it", () =>
  withFolder(async (folder) => {
    const block = await documentedBlock("clients/python/README.md, Tests of your program, 1");
    await writeFile(join(folder, "test_builder.py"), block);
    const { code, output, errors } = await runProgram(await interpreter(), {
      args: ["-m", "pytest", "-p", "no:cacheprovider", "-W", "error", folder],
      cwd: folder,
      env: PYTHON_ENVIRONMENT,
    });
    assert.equal(code, 0, output + errors);
    assert.match(output, /1 passed/);
  }));

async function run(script: string, agent: Agent, folder: string): Promise<string> {
  const { code, output, errors } = await runProgram(await interpreter(), {
    args: ["-c", script],
    cwd: folder,
    env: {
      ...PYTHON_ENVIRONMENT,
      AGENT_URL: SUPABASE_URL,
      AGENT_KEY: agent.key,
    },
  });
  assert.equal(code, 0, errors);
  return output;
}
