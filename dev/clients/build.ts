import { runTask } from "../../local/command/run_task.ts";
import { buildClient } from "./build_client.ts";

await runTask({
  task: "client:build",
  summary: "Make dist/ of the TypeScript client.",
  example: "deno task client:build",
  run: () => buildClient(),
});
