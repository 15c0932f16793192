import { defineOperation, type Operation } from "../../command.ts";
import { readProjects } from "../../connection/project_file.ts";

export const projects: Operation = defineOperation({
  summary: "List the deployments that `agentops login` stored, without their secret keys.",
  example: "agentops projects",
  async run(_parsed, output) {
    const stored = Object.entries(await readProjects());
    async function* rows() {
      for (const [project, { url }] of stored) yield { project, url };
    }
    await output.rows(rows(), {
      heads: ["PROJECT", "URL"],
      cells: ({ project, url }) => [project, url],
    });
  },
});
