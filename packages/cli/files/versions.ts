import { inBytes } from "../../command/terminal/output.ts";
import { defineVerb, type Verb } from "../verb.ts";
import { inWords } from "./ls.ts";

export const versions: Verb = defineVerb({
  summary: "List the versions of a file, the newest first.",
  positionals: { usage: "KEY", least: 1, most: 1, wrong: "Name one file." },
  example: "agentfiles versions plans/house.txt --from planner",
  options: {
    from: {
      type: "string",
      value: "AGENT",
      help: "the owner of the file; default: the agent itself",
    },
  },
  async run({ positionals: [key = ""], values: { from } }, context) {
    const files = await context.files();
    const found = files.versions(key, from === undefined ? {} : { agentId: from });
    await context.output.rows(found, {
      heads: ["VERSION", "SIZE", "COMMITTED", "EXPIRES", "METADATA", "ARTIFACT"],
      dispensable: "ARTIFACT",
      cells: ({ version, size, committed_at, expires_at, metadata, artifact_id }) => [
        String(version ?? ""),
        inBytes(size),
        committed_at ?? "",
        expires_at ?? "",
        inWords(metadata),
        artifact_id,
      ],
    });
  },
});
