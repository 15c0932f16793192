/** What `agentfiles work --exec` runs for each task of an agent of the pipeline. */
import process from "node:process";
import { readFile, writeFile } from "node:fs/promises";
import { AgentFiles } from "../../../../packages/agent-files/index.ts";
import { deskFrom, handOn, signed } from "./hand_on.ts";

const { url, key, role, routes } = deskFrom(process.env);
const { AGENT_FILE, AGENT_FROM, AGENT_TASK } = process.env;
const text = signed(await readFile(AGENT_FILE!, "utf8"), role);
const to = routes[AGENT_FROM!];
if (to === undefined) await writeFile("answer.txt", text);
else await handOn(new AgentFiles({ url, key }), { taskId: AGENT_TASK!, text, to });
