import { runTask } from "../../local/command/run_task.ts";
import { buildLwip } from "./build_lwip.ts";

await runTask({
  task: "mesh:build",
  summary: "Compile the TCP/IP stack of the sandbox peer (lwIP, from Debian's source package).",
  example: "deno task mesh:build",
  options: { new: { type: "boolean", help: "write the digest instead of comparing it" } },
  run: async ({ values }) => {
    await buildLwip({ isNew: values.new === true });
    console.log("lwip.wasm is in clients/typescript/src/mesh/ip/built/");
  },
});
