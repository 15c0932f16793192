// Made by `deno task client:types` of supabase/functions/_shared/operations/mcp/message.ts.

/** A message as hosts send it: some send null, or a text, for what they leave out or nest. */
export function settleMessage<Message extends object>(message: Message): Message {
  const { params, ...rest } = message as { params?: unknown };
  if (params === undefined) return message;
  if (params === null) return rest as Message;
  if (typeof params !== "object" || Array.isArray(params)) return message;
  const settled = Object.entries(params)
    .map(([name, value]) => [name, name === "arguments" ? objectIn(value) : value] as const)
    .filter(([name, value]) => value !== null && !(name === "cursor" && value === ""));
  return { ...rest, params: Object.fromEntries(settled) } as Message;
}

/** The object that a text is the JSON of; null for an empty text. */
function objectIn(value: unknown): unknown {
  if (typeof value !== "string") return value;
  if (value.trim() === "") return null;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
