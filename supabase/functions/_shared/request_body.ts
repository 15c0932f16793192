import type * as z from "zod";
import { ServiceError } from "./errors.ts";

/** Longest request body, in bytes. */
export const MAX_BODY_BYTES = 64 * 1024;

/** How much of a body that nobody wants is still read. */
const MAX_DISCARDED_BYTES = 1024 ** 2;

/**
 * Reads what a refusal left unread of a body, within reason: the platform's Deno (2.1) resets a connection whose body
 * was not read to its end, and the sender then loses the answer too.
 */
export async function discardBody({ body }: Request): Promise<void> {
  if (body === null || body.locked) return;
  let discarded = 0;
  for await (const chunk of body) {
    discarded += chunk.byteLength;
    if (discarded > MAX_DISCARDED_BYTES) return;
  }
}

/** The request's body as a JSON object, whatever its Content-Type; nothing at all counts as `{}`. Throws invalid_json. */
export async function readJsonObject(request: Request): Promise<object> {
  let body: unknown;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await request.arrayBuffer());
    body = text.trim() === "" ? {} : JSON.parse(text);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    // Without the cause: a parser's message quotes the body, and bodies hold grant tokens.
    throw new ServiceError("invalid_json");
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new ServiceError("invalid_json");
  }
  return body;
}

/** Parses `body` by `schema`. Throws invalid_request, with one issue for every bad field. */
export function parseBody(schema: z.ZodType, body: object): unknown {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const messages = new Map<string, string>();
  for (const issue of parsed.error.issues) {
    const path = issue.path.join(".");
    if (!messages.has(path)) messages.set(path, issue.message);
  }
  throw new ServiceError("invalid_request", {
    details: { issues: Array.from(messages, ([path, message]) => ({ path, message })) },
  });
}
