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
  readonly grant_id: string;
  readonly reply_to?: string | null;
}

interface TakenEntry extends Entry {
  readonly take_id: string;
  readonly taken_until: string;
  readonly attempt?: number;
}

/** What not every file has: shown only where there is something to tell. */
function tellingOf({ metadata = {}, note, reply_to, superseded }: Entry): object {
  return {
    ...(Object.keys(metadata).length > 0 && { metadata }),
    ...(note && { note }),
    ...(reply_to && { reply_to }),
    ...(superseded && { superseded }),
  };
}

/** /inbox, with only the fields that a model needs to choose a file. */
export const inboxTool = defineTool({
  name: "inbox",
  answers: "grants",
  summary: "List the files granted to you, newest first.",
  description: "For newer ones, send its `latest` as `after`.",
  additions: z.object({}),
  hidden: ["states"],
  undescribed: ["after"],
  async call({ run }, { given }) {
    const { grants, ...position } = await run<{ readonly grants: readonly Entry[] }>(
      "/inbox",
      given,
    );
    // Left out: the digest is in get's command, and the order of the grants shows which is newer.
    const shown = grants.map((entry) => {
      const { artifact_id, from_agent, key, mime, size, version, expires_at } = entry;
      return {
        artifact_id,
        from_agent,
        key,
        mime,
        size,
        version,
        expires_at,
        ...tellingOf(entry),
      };
    });
    return { body: { grants: shown, ...position } };
  },
});

/** /inbox/take, for one task at a time, with what a model needs to do it. */
export const takeTool = defineTool({
  name: "take",
  answers: "tasks",
  summary: "Take the oldest task that waits for you: nobody else gets it meanwhile.",
  description: "Its `note` says what to do. Call done or fail before `taken_until`.",
  additions: z.object({}),
  hidden: ["max"],
  undescribed: ["prefix"],
  async call({ run }, { given }) {
    const { tasks } = await run<{ readonly tasks: readonly TakenEntry[] }>("/inbox/take", given);
    const shown = tasks.map((entry) => {
      const { take_id, taken_until, grant_id, artifact_id, from_agent, key, mime, size } = entry;
      return {
        take_id,
        taken_until,
        grant_id,
        artifact_id,
        from_agent,
        key,
        mime,
        size,
        ...(entry.attempt !== undefined && { attempt: entry.attempt }),
        ...tellingOf(entry),
      };
    });
    return { body: { tasks: shown } };
  },
});
