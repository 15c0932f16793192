import { defineOperation, type Operation } from "../command.ts";
import { limitOf } from "../output/list.ts";
import { traceText } from "../output/trace_text.ts";
import { readTrace } from "../reads/traces.ts";

/** As many events as fit on one screen together with the facts. */
const EVENTS = "12";

export const trace: Operation = defineOperation({
  summary: "Show the history of a file, agent, grant or agent key, even after it is deleted.",
  positionals: {
    usage: "<name | id | agent_id>",
    least: 1,
    most: 1,
    wrong: "Name one file (by its name or artifact_id), agent, grant or agent key.",
  },
  example: "agentops trace reports/july.pdf",
  options: {
    of: { type: "string", value: "AGENT", help: "files of this agent, by their name" },
    agent: { type: "boolean", help: "the agent of this name, even if a file has the same name" },
    limit: { type: "string", value: "N", help: `how many events at most; default: ${EVENTS}` },
  },
  async run({ positionals: [target], values }, output) {
    const limit = limitOf(values.limit ?? EVENTS);
    const trace = await readTrace(target!, {
      of: values.of,
      isAgent: values.agent === true,
      limit,
    });
    await output.value(trace, traceText);
  },
});
