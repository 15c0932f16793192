import * as z from "zod";
import { defineTool } from "../../_shared/operations/mcp/definition.ts";

interface Entry {
  readonly grant_id: string;
  readonly sha256: string;
  readonly granted_at: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** /inbox, with only the fields that a model needs to choose a file. */
export const inboxTool = defineTool({
  name: "inbox",
  summary: "List the files granted to you, newest first.",
  description: "Send the answer's `latest` as the next `after` to see only newer ones.",
  additions: z.object({}),
  async call({ run }, { given }) {
    const { grants, ...position } = await run<{ readonly grants: readonly Entry[] }>(
      "/inbox",
      given,
    );
    // Left out: the digest is in get's command, and the order of the grants shows which is newer.
    const shown = grants.map((
      { grant_id: _, sha256: __, granted_at: ___, metadata = {}, ...entry },
    ) => ({ ...entry, ...(Object.keys(metadata).length > 0 && { metadata }) }));
    return { body: { grants: shown, ...position } };
  },
});
