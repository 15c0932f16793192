/** An agent of the pipeline that works by `files.tasks()` alone, until it is killed. */
import process from "node:process";
import { AgentFiles } from "../../../../packages/agent-files/index.ts";
import { deskFrom, handOn, signed } from "./hand_on.ts";

const { url, key, role, routes } = deskFrom(process.env);
const files = new AgentFiles({ url, key });

// The shortest takes, so that the test sees whether they are renewed.
for await (const task of files.tasks({ takeSeconds: 30 })) {
  try {
    const text = signed(await task.text(), role);
    const to = routes[task.from];
    if (to === undefined) {
      await task.done({ reply: text });
    } else {
      await handOn(files, { taskId: task.id, text, to });
      await task.done();
    }
  } catch (error) {
    // Another process of this agent may have the task now.
    if (!task.signal.aborted) throw error;
  }
}
