import { defineVerb, type Verb } from "../verb.ts";
import { inBytes } from "../../command/terminal/output.ts";

export const ls: Verb = defineVerb({
  summary: "List the agent's files.",
  positionals: {
    usage: "[PREFIX]",
    least: 0,
    most: 1,
    wrong: "Give one prefix at most.",
  },
  example: "agentfiles ls plans/",
  options: {},
  async run({ positionals }, context) {
    const files = await context.files();
    await context.output.rows(files.list({ prefix: positionals[0] ?? "" }), {
      heads: ["KEY", "SIZE", "COMMITTED", "EXPIRES", "ARTIFACT"],
      dispensable: "ARTIFACT",
      cells: ({ key, size, committed_at, expires_at, artifact_id }) => [
        key,
        inBytes(size),
        committed_at ?? "",
        expires_at ?? "",
        artifact_id,
      ],
    });
  },
});
