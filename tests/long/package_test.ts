import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runProgram } from "../../packages/local/processes/run_program.ts";
import { type Agent, createAgent, SUPABASE_URL } from "../conformance/client.ts";
import { Clone, installInto, packAndInstall } from "./installed_package.ts";

/** Puts and gets a file with the installed command, then gets it with the module. */
async function assertWorks(command: string, folder: string): Promise<void> {
  const agent = await createAgent("planner");
  const work = join(folder, "work");
  await mkdir(work);
  await writeFile(join(work, "plan.txt"), "First the cellar.");
  await succeed(command, ["put", "plan.txt"], work, agent);
  await succeed(command, ["get", "plan.txt", "-o", "again.txt"], work, agent);
  assert.equal(await readFile(join(work, "again.txt"), "utf8"), "First the cellar.");
  const script = `
    import { AgentFiles } from "agent-files";
    const { AGENT_URL: url, AGENT_KEY: key } = process.env;
    const { body } = await new AgentFiles({ url, key }).get("plan.txt");
    process.stdout.write(await new Response(body).text());`;
  const args = ["--input-type=module", "--eval", script];
  assert.equal(await succeed("node", args, work, agent), "First the cellar.");
}

async function succeed(
  program: string,
  args: string[],
  cwd: string,
  { key }: Agent,
): Promise<string> {
  const env = { AGENT_URL: SUPABASE_URL, AGENT_KEY: key };
  const { code, output, errors } = await runProgram(program, { args, cwd, env });
  assert.equal(code, 0, errors);
  return output;
}

async function inEmptyFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("npm pack in a clean clone, npm install of what it made → command and module work", () =>
  inEmptyFolder(async (folder) => {
    await assertWorks(await packAndInstall(folder), folder);
  }));

Deno.test("npm install --install-links of a clean clone's folder → command and module work", () =>
  inEmptyFolder(async (folder) => {
    await using clone = await Clone.make({ isBuilt: true });
    await assertWorks(await installInto(folder, ["--install-links", clone.package]), folder);
  }));

Deno.test("npm install of a clean clone's folder, which npm links → command, module and sandbox peer work", () =>
  inEmptyFolder(async (folder) => {
    await using clone = await Clone.make();
    await assertWorks(await installInto(folder, [clone.package]), folder);
    const worker = join(folder, "node_modules/agent-files/dist/agent-peer/mesh/worker.js");
    assert.ok(!(await readFile(worker, "utf8")).includes("has not been built"));
  }));
