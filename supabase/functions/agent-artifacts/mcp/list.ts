import * as z from "zod";
import { defineTool } from "../../_shared/operations/mcp/definition.ts";
import type { Artifact } from "../fields.ts";

interface Page {
  readonly artifacts: readonly Artifact[];
  readonly next_cursor: string | null;
}

/** /list, with only the fields that a model needs to choose a file. */
export const listTool = defineTool({
  name: "list",
  answers: "artifacts",
  summary: "List your current files, by name.",
  description: "",
  undescribed: ["prefix"],
  additions: z.object({}),
  async call({ run }, { given }) {
    const { artifacts, next_cursor } = await run<Page>("/list", given);
    const shown = artifacts.map(({ artifact_id, key, mime, size, expires_at }) => ({
      artifact_id,
      key,
      mime,
      size,
      expires_at,
    }));
    return { body: { artifacts: shown, next_cursor } };
  },
});
