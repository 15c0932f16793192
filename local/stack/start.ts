import { stopRequest } from "../processes/stop_request.ts";
import { stateDirectory } from "../state/state_directory.ts";
import { stateFiles } from "../state/state_files.ts";
import { CommandError } from "../command/command_error.ts";
import { runTask } from "../command/run_task.ts";

const DEFAULT_PORT = 54321;

async function main(): Promise<void> {
  const stopRequested = stopRequest();
  const stateDir = stateDirectory();
  console.log(`Starting the service with its state in ${stateDir} …`);
  // Loaded only now: at the first run, this downloads packages.
  const { startStack } = await import("./stack.ts");
  const stack = await startStack({
    port: portOf(Deno.env.get("PORT")),
    stateDir,
    onProgress: console.log,
    ...storageSizeLimit(Deno.env.get("STORAGE_FILE_SIZE_LIMIT")),
  });
  console.log(`Keys and URLs are in ${stateFiles(stateDir).env}`);
  console.log(`Ready: ${stack.url}`);
  console.log(await stopRequested);
  await stack.stop();
}

function portOf(text: string | undefined): number {
  if (!text) return DEFAULT_PORT;
  const port = Number(text);
  if (!/^[0-9]+$/.test(text) || port < 1 || port > 65_535) {
    throw new CommandError("PORT must be a whole number from 1 to 65535.");
  }
  return port;
}

function storageSizeLimit(text: string | undefined): { storageSizeLimit?: number } {
  if (!text) return {};
  if (!/^[0-9]+$/.test(text)) {
    throw new CommandError("STORAGE_FILE_SIZE_LIMIT must be a whole number of bytes.");
  }
  return { storageSizeLimit: Number(text) };
}

await runTask({
  task: "start",
  summary: "Start the whole service, and run it until Ctrl-C. PORT and STATE_DIR say where.",
  example: "deno task start",
  run: main,
});
// What still keeps the event loop going has been told to end.
Deno.exit(0);
