/** Many inboxes that wait in one event loop, as clients/python/README.md describes it. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../../packages/local/project.ts";
import { createAgent } from "../../../tests/conformance/client.ts";
import { documentedBlock } from "../../../tests/docs/blocks/documentation.ts";
import { python, twoAgents } from "./run.ts";

const AGENTS = 20;

/** The function `new_grants` of the README. */
async function documentedFunction(): Promise<string> {
  const block = await documentedBlock("clients/python/README.md, Waiting in asyncio, 1");
  return block.slice(0, block.indexOf("async def main()"));
}

Deno.test(`Python: ${AGENTS} agents that wait in asyncio with the threads of two cores → each gets what is put for it, and every thread ends`, async () => {
  const agents = await Promise.all(
    Array.from({ length: AGENTS }, () => createAgent("waiter")),
  );
  const received = await python(
    `
${await documentedFunction()}
agents = json.loads(os.environ["AGENTS"])

async def first_grant(agent_id, key):
    files = AgentFiles(os.environ["URL"], key)
    grants = new_grants(files)
    try:
        async for grant in grants:
            await asyncio.to_thread(files.get, grant["artifact_id"], io.BytesIO())
            return [agent_id, grant["key"]]
    finally:
        await grants.aclose()

async def main():
    # What asyncio makes by itself on two cores.
    asyncio.get_running_loop().set_default_executor(
        concurrent.futures.ThreadPoolExecutor(min(32, 2 + 4)))
    waiting = [asyncio.create_task(first_grant(*agent)) for agent in agents]
    cancelled = asyncio.create_task(first_grant(builder_id, os.environ["BUILDER"].split()[1]))
    # All of them wait before the first file is put.
    def requests():
        return sum(thread.name == "agent_files _shut_when_stopped" for thread in threading.enumerate())
    while requests() < len(agents) + 1:
        await asyncio.sleep(0.05)
    cancelled.cancel()
    for agent_id, _ in agents:
        await asyncio.to_thread(planner.put, f"for {agent_id}", b"1", to=[agent_id])
    return await asyncio.gather(*waiting)

received = asyncio.run(main())
while threading.active_count() > 1:
    time.sleep(0.05)
print(json.dumps(received))
`,
    await twoAgents(),
    { AGENTS: JSON.stringify(agents.map(({ id, key }) => [id, key])) },
  );
  assert.deepEqual(received, agents.map(({ id }) => [id, `for ${id}`]));
});

Deno.test("the docstring of agent_files.py → the function of the README", async () => {
  const source = await readFile(join(PROJECT, "clients/python/agent_files.py"), "utf8");
  const [docstring = ""] = /^"""[^]*?\n"""/.exec(source) ?? [];
  const shown = docstring.split("\n").map((line) => line.replace(/^ {4}/, "")).join("\n");
  const documented = await documentedFunction();
  const body = documented.slice(documented.indexOf("async def new_grants")).trim();
  assert.ok(shown.includes(body), shown);
});
