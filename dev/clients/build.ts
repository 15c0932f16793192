import { runCommand } from "../../local/command/run_command.ts";
import { buildClient } from "./build_client.ts";

await runCommand(buildClient);
