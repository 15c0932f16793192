/** An agent of the pipeline: a host that calls the tools of /mcp, with a model that reads texts. */
import process from "node:process";
import { connect } from "../../../conformance/mcp/mcp_client.ts";
import { deskFrom, signed } from "./hand_on.ts";
import { dialectOf, handOnByTools, use, workOn } from "./host.ts";

interface Task {
  readonly take_id: string;
  readonly grant_id: string;
  readonly artifact_id: string;
  readonly from_agent: string;
}

const desk = deskFrom(process.env);
const client = await connect(
  "agent-artifacts",
  { headers: { authorization: `Bearer ${desk.key}` } },
  { url: `${desk.url}/functions/v1/agent-artifacts/mcp`, dialect: dialectOf(desk) },
);

await workOn<Task>({
  take: async () =>
    (await use<{ tasks: Task[] }>(client, "take", { wait_seconds: 50 })).tasks[0] ?? null,
  async work({ take_id, grant_id, artifact_id, from_agent }) {
    const taken = await use<{ text: string }>(client, "get", { artifact_id, inline: true });
    const text = signed(taken.text, desk.role);
    const put = (key: string) => use<{ artifact_id: string }>(client, "put", { key, text });
    const to = desk.routes[from_agent];
    if (to !== undefined) await handOnByTools(client, { grantId: grant_id, to, put });
    const reply = to === undefined ? await put(`answers/${grant_id}`) : undefined;
    await use(client, "done", {
      take_id,
      ...(reply !== undefined && { reply: { artifact_id: reply.artifact_id } }),
    });
  },
});
