import { CommandError } from "../../../command/command_error.ts";
import { UsageError } from "../../../command/usage_error.ts";
import { defineOperation, type Operation } from "../../command.ts";
import { chosenProject } from "../../connection/connection.ts";
import { readProjects, storeProject } from "../../connection/project_file.ts";

export const logout: Operation = defineOperation({
  summary: "Remove a stored deployment from this machine. Its secret key stays valid.",
  example: "agentops logout --project staging",
  async run(_parsed, output) {
    const name = chosenProject();
    if (name === null) throw new UsageError("Name the deployment with --project.");
    if (!Object.hasOwn(await readProjects(), name)) {
      throw new CommandError(`There is no project ${name}. Nothing was removed.`);
    }
    await storeProject(name, null);
    await output.value({ project: name, removed: true }, () => `${name} was removed.`);
  },
});
