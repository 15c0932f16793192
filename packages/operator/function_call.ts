import { CommandError } from "../command/command_error.ts";
import { readConnection } from "./connection/connection.ts";
import { assertFits } from "./connection/fit.ts";
import { operatorFetch } from "./connection/operator_fetch.ts";

/**
 * POSTs to an edge function as the operator, such as to `/agent-mesh/psk/keys`. Returns the
 * answer's body. Throws CommandError, also if the deployed schema is not that of this release.
 */
export async function callFunctionAsOperator(
  path: string,
  body: Readonly<Record<string, unknown>> = {},
): Promise<unknown> {
  const connection = await readConnection();
  await assertFits(connection);
  const { SUPABASE_URL: url, SUPABASE_SECRET_KEY: secretKey } = connection;
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
