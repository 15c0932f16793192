import { CommandError } from "../command/command_error.ts";
import { readConnection } from "./connection/connection.ts";
import { assertFits } from "./connection/fit.ts";
import { postRpc } from "./connection/rpc.ts";

/**
 * The database refused a call. `code` is its code in the wire contract, else a message; `sqlState`
 * is PostgreSQL's, or PostgREST's own code.
 */
export class RefusedCall extends CommandError {
  constructor(message: string, readonly code: string, readonly sqlState: string) {
    super(message);
  }
}

/**
 * Calls an SQL function, named without its prefix, as the operator. Returns what the function
 * returns. Throws CommandError, also if the deployed schema is not that of this release, and
 * RefusedCall if the function refuses.
 */
export async function callAsOperator(
  functionName: string,
  parameters: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  const connection = await readConnection();
  await assertFits(connection);
  let response: Response;
  try {
    response = await postRpc(connection, functionName, parameters);
  } catch (cause) {
    if (cause instanceof CommandError) throw cause;
    throw new CommandError(
      `${connection.SUPABASE_URL} does not answer: is the service running?`,
      { cause },
    );
  }
  const text = await response.text();
  if (!response.ok) {
    throw new RefusedCall(
      `${functionName} was refused (HTTP ${response.status}): ${reasonOfRefusal(text)}`,
      String(parseObject(text)["message"]),
      String(parseObject(text)["code"]),
    );
  }
  return JSON.parse(text);
}

function reasonOfRefusal(body: string): string {
  try {
    const { code, message, details, hint } = JSON.parse(body);
    const described = describeRefusal(String(message), parseObject(details));
    // Only hints of this project's own errors: PostgreSQL's hints may quote a row too.
    return hint && /^PT[0-9]{3}$/.test(code) ? `${described}: ${hint}` : described;
  } catch {
    return body.slice(0, 200);
  }
}

/**
 * A refusal in words, with the details of this project's own errors. Omits PostgreSQL's details,
 * which may quote a row.
 */
export function describeRefusal(
  code: string,
  details: Readonly<Record<string, unknown>>,
): string {
  const told = Array.isArray(details["issues"])
    ? details["issues"].map(({ path, message }) => `${path}: ${message}`).join(" ")
    : Object.entries(details).map(([name, value]) => `${name}: ${value}`).join(", ");
  return told === "" ? code : `${code} (${told})`;
}

function parseObject(text: unknown): Record<string, unknown> {
  try {
    const value = JSON.parse(String(text));
    return value !== null && typeof value === "object" ? value : {};
  } catch {
    return {};
  }
}
