import * as z from "zod";
import { defineTool } from "../../_shared/operations/mcp/definition.ts";

interface Entry {
  readonly note?: string | null;
  readonly superseded?: boolean;
}

/**
 * The digest is in get's command, and the order of the grants shows which is newer. The others are
 * for programs.
 */
const LEFT_OUT: ReadonlySet<string> = new Set(
  ["grant_id", "sha256", "granted_at", "note", "superseded", "reply_to", "deliver"]
    .concat("state", "attempt", "next_at"),
);

/** The note, and whether there is a newer file: only where there is something to tell. */
function tellingOf({ note, superseded }: Entry): [string, unknown][] {
  return [...(note ? [["note", note]] : []), ...(superseded ? [["superseded", true]] : [])] as [
    string,
    unknown,
  ][];
}

/** /inbox, with only the fields that a model needs to choose a file. */
export const inboxTool = defineTool({
  name: "inbox",
  summary: "List the files granted to you, newest first.",
  description: "Send the answer's `latest` as the next `after` for newer ones.",
  additions: z.object({}),
  hidden: ["states"],
  async call({ run }, { given }) {
    const { grants, ...position } = await run<{ readonly grants: readonly Entry[] }>(
      "/inbox",
      given,
    );
    const shown = grants.map((entry) =>
      Object.fromEntries(
        Object.entries(entry).filter(([name]) => !LEFT_OUT.has(name)).concat(tellingOf(entry)),
      )
    );
    return { body: { grants: shown, ...position } };
  },
});
