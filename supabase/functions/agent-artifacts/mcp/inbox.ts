import * as z from "zod";
import { defineTool } from "../../_shared/operations/mcp/definition.ts";

interface Entry {
  readonly grant_id: string;
  readonly sha256: string;
  readonly granted_at: string;
  readonly note?: string | null;
  readonly superseded?: boolean;
  readonly reply_to?: string | null;
  readonly deliver?: string;
}

/** The note, and whether there is a newer file: only where there is something to tell. */
function tellingOf({ note, superseded }: Entry): object {
  return { ...(note && { note }), ...(superseded && { superseded }) };
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
    const shown = grants.map((whole) => {
      const { grant_id: _, sha256: __, granted_at: ___, ...entry } = whole;
      const { note: ____, superseded: _____, reply_to: ______, deliver: _______, ...file } = entry;
      return { ...file, ...tellingOf(whole) };
    });
    return { body: { grants: shown, ...position } };
  },
});
