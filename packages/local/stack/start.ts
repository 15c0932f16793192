import { stopRequest } from "../processes/stop_request.ts";
import { stateFiles } from "../state/state_files.ts";
import { runTask } from "../../command/run_task.ts";
import { readStackOptions } from "./options.ts";

async function main(): Promise<void> {
  const stopRequested = stopRequest();
  const options = readStackOptions();
  console.log(`Starting the service with its state in ${options.stateDir} …`);
  // Import this late: on the first run, it downloads packages.
  const { startStack } = await import("./stack.ts");
  const stack = await startStack({ ...options, onProgress: console.log });
  console.log(`The URL and the secret key are in ${stateFiles(options.stateDir).env}`);
  console.log(`Ready: ${stack.url}`);
  console.log(await stopRequested);
  await stack.stop();
}

await runTask({
  task: "start",
  summary: "Start the whole service, and run it until Ctrl-C. PORT and STATE_DIR say where.",
  example: "deno task start",
  run: main,
});
// Everything that still keeps the event loop alive has been told to end.
Deno.exit(0);
