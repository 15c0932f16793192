/** An agent of the pipeline: a host of `agentfiles mcp`, with a model that works by paths. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import process from "node:process";
import { AgentHost } from "../../../../packages/cli/tests/mcp/agent_host.ts";
import { deskFrom, signed } from "./hand_on.ts";
import { dialectOf, handOnByTools, use, workOn } from "./host.ts";

interface Task {
  readonly take_id: string;
  readonly grant_id: string;
  readonly from_agent: string;
  readonly path: string;
}

const desk = deskFrom(process.env);
const agent = { id: process.env["AGENT_ID"]!, key: desk.key };
const host = await AgentHost.for(agent, { url: desk.url, dialect: dialectOf(desk) });
const { client } = host;
await mkdir(host.path("steps"));

await workOn<Task>({
  // The shortest takes, so that the test sees whether they are renewed.
  take: async () =>
    (await use<{ task: Task | null }>(client, "take", { seconds: 30, wait_seconds: 50 })).task,
  async work({ take_id, grant_id, from_agent, path: taken }) {
    const path = `steps/${grant_id}.txt`;
    await writeFile(host.path(path), signed(await readFile(host.path(taken), "utf8"), desk.role));
    const to = desk.routes[from_agent];
    if (to !== undefined) {
      const put = (key: string) => use<{ artifact_id: string }>(client, "put_file", { path, key });
      await handOnByTools(client, { grantId: grant_id, to, put });
    }
    await use(client, "done", { take_id, ...(to === undefined && { reply: path }) });
  },
});
