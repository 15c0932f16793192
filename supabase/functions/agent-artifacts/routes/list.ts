import { Buffer } from "node:buffer";
import * as z from "zod";
import { limit, subject } from "../../_shared/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import { artifact, key, nextCursor, prefix } from "../fields.ts";

/** The key that the page before ended with, in base64url. */
const cursor = z.string()
  .transform((text) => decodeCursor(text))
  .refine((lastKey) => lastKey !== null, "Must be the next_cursor of an earlier answer.");

const response = z.object({ artifacts: z.array(artifact), next_cursor: nextCursor });

interface Page {
  readonly artifacts: z.output<typeof artifact>[];
  readonly last_key: string | null;
}

export function createOperation({ callDatabase }: Platform): Operation {
  return defineOperation({
    summary: "The current artifacts of an agent under a prefix, in byte order of key.",
    description: "Committed and not expired, one per key.",
    tag: "Artifacts",
    callers: "the agent itself",
    effect: "reads",
    identification: "required",
    request: z.object({
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
  // No base64 has such a length, and the platform's Deno (2.1) throws on it.
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return null;
  const lastKey = Buffer.from(text, "base64url").toString("utf8");
  return encodeCursor(lastKey) === text && key.safeParse(lastKey).success ? lastKey : null;
}
