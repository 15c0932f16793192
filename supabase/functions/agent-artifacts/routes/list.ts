import { Buffer } from "node:buffer";
import * as z from "zod";
import { limit, subject } from "../../_shared/request/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import { artifact, CURSOR, key, nextCursor, prefix } from "../fields.ts";

const CURSOR_RULE = "Must be the next_cursor of an earlier answer.";

/** The last key of the previous page, in base64url. */
const cursor = z.string()
  .meta(CURSOR)
  .regex(/^[A-Za-z0-9_-]+$/, CURSOR_RULE)
  // The length of the longest key, 1024 bytes, in base64url.
  .max(1366, CURSOR_RULE)
  .transform((text) => decodeCursor(text))
  .refine((lastKey) => lastKey !== null, CURSOR_RULE);

const response = z.object({ artifacts: z.array(artifact), next_cursor: nextCursor });

interface Page {
  readonly artifacts: z.output<typeof artifact>[];
  readonly last_key: string | null;
}

export function createOperation({ callDatabase }: Platform): Operation {
  return defineOperation({
    summary:
      "List an agent's current artifacts whose names begin with a prefix, in byte order of name.",
    description: "One artifact per name (`key`): committed, neither superseded nor expired.",
    tag: "Artifacts",
    callers: "the agent itself",
    effect: "reads",
    identification: "required",
    request: z.strictObject({
      agent_id: subject,
      prefix: prefix.default(""),
      limit,
      cursor: cursor.optional(),
    }),
    response,
    errors: [],
    async handle({ input, caller }) {
      const page = await callDatabase<Page>("list_artifacts", {
        caller,
        agent_id: input.agent_id ?? null,
        prefix: input.prefix,
        max_entries: input.limit,
        after_key: input.cursor ?? null,
      });
      return { artifacts: page.artifacts, next_cursor: encodeCursor(page.last_key) };
    },
  });
}

function encodeCursor(lastKey: string | null): string | null {
  return lastKey === null ? null : Buffer.from(lastKey, "utf8").toString("base64url");
}

function decodeCursor(text: string): string | null {
  // base64url never has this length, and the platform's Deno (2.1) throws on it.
  if (text.length % 4 === 1) return null;
  const lastKey = Buffer.from(text, "base64url").toString("utf8");
  return encodeCursor(lastKey) === text && key.safeParse(lastKey).success ? lastKey : null;
}
