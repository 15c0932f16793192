import { CommandError } from "../../command/command_error.ts";
import { defineOperation, type Operation } from "../command.ts";
import { readConnection } from "../connection/connection.ts";
import { startDashboard } from "./server.ts";

export const dashboard: Operation = defineOperation({
  summary:
    "Serve the dashboard, on which the operator sees and changes everything, until Ctrl-C. Prints its URL.",
  example: "agentops dashboard --port 8000",
  options: {
    port: {
      type: "string",
      value: "PORT",
      help: "the port on 127.0.0.1; default: any free one",
    },
  },
  async run({ values }, output) {
    const port = portOf(values.port);
    const { SUPABASE_URL: project } = await readConnection();
    const { url } = await startDashboard({ project, port });
    await output.value({ url }, () => url);
    console.error(
      `The agents of ${project}. Anyone who has this URL can see and change them until Ctrl-C.`,
    );
  },
});

/** Throws CommandError. */
function portOf(text = "0"): number {
  if (/^\d{1,5}$/.test(text) && Number(text) < 65_536) return Number(text);
  throw new CommandError("--port takes a number from 0 to 65535.");
}
