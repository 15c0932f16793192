import { CommandError } from "../packages/command/command_error.ts";
import { readConnection } from "./operator_call.ts";
import { operatorFetch } from "./operator_fetch.ts";

/**
 * POSTs to an edge function as the operator, such as to `/agent-mesh/psk/keys`. The deployment is
 * the one that SUPABASE_URL and SUPABASE_SECRET_KEY name, else the local stack. Returns the
 * answer's body. Throws CommandError.
 */
export async function callFunctionAsOperator(
  path: string,
  body: Readonly<Record<string, unknown>> = {},
): Promise<unknown> {
  const { SUPABASE_URL: url, SUPABASE_SECRET_KEY: secretKey } = await readConnection();
  const fetch = await operatorFetch();
  let response: Response;
  try {
    response = await fetch(new URL(`/functions/v1${path}`, url), {
      method: "POST",
      headers: { apikey: secretKey, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  } catch (cause) {
    throw new CommandError(`${url} does not answer: is the service running?`, { cause });
  }
  const text = await response.text();
  if (!response.ok) {
    throw new CommandError(`${path} answered HTTP ${response.status}: ${messageOf(text)}`);
  }
  return JSON.parse(text);
}

/**
 * The message of an error's envelope, followed by those of its fields. For anything else, its
 * beginning.
 */
function messageOf(body: string): string {
  try {
    const { message, details } = JSON.parse(body).error;
    const issues: { path: string; message: string }[] = details?.issues ?? [];
    return [message, ...issues.map(({ path, message }) => `${path}: ${message}`)].join(" ");
  } catch {
    return body.slice(0, 200);
  }
}
