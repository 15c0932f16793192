import * as z from "zod";
import { defineTool } from "../../_shared/operations/mcp/definition.ts";

interface Entry {
  readonly artifact_id: string;
  readonly from_agent: string;
  readonly key: string;
  readonly mime: string;
  readonly size: number;
  readonly version?: number | null;
  readonly expires_at: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly note?: string | null;
  readonly superseded?: boolean;
}

/** What not every file has: shown only where there is something to tell. */
function tellingOf({ metadata = {}, note, superseded }: Entry): object {
  return {
    ...(Object.keys(metadata).length > 0 && { metadata }),
    ...(note && { note }),
    ...(superseded && { superseded }),
  };
}

/** /inbox, with only the fields that a model needs to choose a file. */
export const inboxTool = defineTool({
  name: "inbox",
  summary: "List the files granted to you, newest first.",
  description: "For newer ones, send its `latest` as `after`.",
  additions: z.object({}),
  hidden: ["states"],
  async call({ run }, { given }) {
    const { grants, ...position } = await run<{ readonly grants: readonly Entry[] }>(
      "/inbox",
      given,
    );
    // Left out: the digest is in get's command, and the order of the grants shows which is newer.
    const shown = grants.map((entry) => {
      const { artifact_id, from_agent, key, mime, size, version, expires_at } = entry;
      return {
        ...{ artifact_id, from_agent, key, mime, size, version, expires_at },
        ...tellingOf(entry),
      };
    });
    return { body: { grants: shown, ...position } };
  },
});
