import { readFile } from "node:fs/promises";
import { CommandError } from "../packages/command/command_error.ts";
import { stateDirectory } from "../local/stack/options.ts";
import { stateFiles } from "../local/state/state_files.ts";
import { operatorFetch } from "./operator_fetch.ts";

const CONNECTION = ["SUPABASE_URL", "SUPABASE_SECRET_KEY"] as const;
type Connection = Record<(typeof CONNECTION)[number], string>;

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
 * Calls an SQL function, named without its prefix, as the operator. The deployment is the one that
 * SUPABASE_URL and SUPABASE_SECRET_KEY name, else the local stack. Returns what the function
 * returns. Throws CommandError, and RefusedCall if the function refuses.
 */
export async function callAsOperator(
  functionName: string,
  parameters: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  const { SUPABASE_URL: url, SUPABASE_SECRET_KEY: secretKey } = await readConnection();
  const fetch = await operatorFetch();
  let response: Response;
  try {
    response = await fetch(new URL(`/rest/v1/rpc/agent_api_${functionName}`, url), {
      method: "POST",
      headers: {
        apikey: secretKey,
        "content-type": "application/json",
        "content-profile": "public",
      },
      body: JSON.stringify(parameters),
    });
  } catch (cause) {
    throw new CommandError(`${url} does not answer: is the service running?`, { cause });
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

/**
 * The connection that the environment names, else the one in the local stack's `env` file. Throws
 * CommandError.
 */
export async function readConnection(): Promise<Connection> {
  const [url, secretKey] = CONNECTION.map((name) => Deno.env.get(name));
  if (url && secretKey) return { SUPABASE_URL: url, SUPABASE_SECRET_KEY: secretKey };
  if (url || secretKey) {
    throw new CommandError("Set both SUPABASE_URL and SUPABASE_SECRET_KEY, or neither.");
  }
  const file = stateFiles(stateDirectory()).env;
  const lines = await readFile(file, "utf8").catch(() => {
    throw new CommandError(
      `SUPABASE_URL and SUPABASE_SECRET_KEY are not set, and ${file} does not exist: start the service first.`,
    );
  });
  const values = Object.fromEntries(
    lines.split("\n").map((line): [string, string] => {
      const equals = line.indexOf("=");
      return [line.slice(0, equals), line.slice(equals + 1)];
    }),
  );
  return values as Connection;
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
