import type * as z from "zod";
import { ServiceError } from "./errors.ts";

/** Longest request body, in bytes. */
export const MAX_BODY_BYTES = 64 * 1024;

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
