import { ServiceError } from "../request/errors.ts";
import { noteIdentity, noteOrdinary } from "../request/request_record.ts";
import type { PlatformSettings } from "../request/settings/platform.ts";
import { fetchWithDeadline, serviceHeaders } from "./fetch.ts";

/**
 * Calls one SQL function, named without its prefix, in one transaction. Gives back the one JSON
 * value that it returns. Throws ServiceError for the errors that it raises.
 */
export type CallDatabase = <Result>(
  functionName: string,
  parameters: Parameters,
) => Promise<Result>;

/**
 * As `callDatabase`, for a value that is the request's answer unchanged. The response has the
 * value's bytes, which are never parsed.
 */
export type RelayDatabase = (
  functionName: string,
  parameters: Parameters,
  /** The answer's list. If it is empty, the answer tells nothing new. */
  listName?: string,
) => Promise<Response>;

/** The arguments of an SQL function, by their names. */
type Parameters = Readonly<Record<string, unknown>>;

/** How operations reach the database. */
export interface Database {
  readonly callDatabase: CallDatabase;
  readonly relayDatabase: RelayDatabase;
}

const [OPENING_BRACE, CLOSING_BRACE] = new TextEncoder().encode("{}");

const MOST_BYTES_OF_EMPTY_PAGE = 1000;

interface Answer {
  readonly response: Response;
  readonly body: ArrayBuffer;
}

/**
 * Calls the project's PostgREST with the service's own key. The SQL functions are in `public`,
 * which need not be the project's first schema. A call that fails transiently is repeated once;
 * then it is upstream_unavailable.
 *
 * Uses plain `fetch`: postgrest-js was an eighth of what a heartbeat cost.
 */
export function createDatabase(settings: PlatformSettings): Database {
  const headers = {
    ...serviceHeaders(settings),
    "content-type": "application/json",
    "content-profile": "public",
  };

  async function post(functionName: string, body: string): Promise<Answer> {
    try {
      const response = await fetchWithDeadline(
        functionName,
        `${settings.supabaseUrl}/rest/v1/rpc/agent_api_${functionName}`,
        { method: "POST", headers, body },
      );
      noteIdentity(response.headers);
      return { response, body: await response.arrayBuffer() };
    } catch (cause) {
      throw new ServiceError("upstream_unavailable", { cause });
    }
  }

  async function call(functionName: string, parameters: Parameters): Promise<ArrayBuffer> {
    const request = JSON.stringify(parameters);
    let answer = await post(functionName, request);
    if (!answer.response.ok) {
      // Loaded by the first error, so that no cold start waits for it.
      const { isTransient, parsePostgrestError, serviceErrorOf } = await import(
        "./postgrest_error.ts"
      );
      const errorOf = ({ body }: Answer) => parsePostgrestError(textOf(body));
      if (isTransient(errorOf(answer))) answer = await post(functionName, request);
      if (errorOf(answer).message === "first_use") {
        const { response, body } = await post("note_first_use", callerOnly(parameters));
        if (!response.ok) throw serviceErrorOf(parsePostgrestError(textOf(body)), response.status);
        answer = await post(functionName, request);
      }
      if (!answer.response.ok) throw serviceErrorOf(errorOf(answer), answer.response.status);
    }
    if (!isJson(answer)) throw unavailable("something else than PostgREST answered");
    if (isFirstUse(answer)) {
      // If it fails: the request has succeeded, and the next one can give the name to the users.
      await post("note_first_use", callerOnly(parameters)).catch(() => {});
    }
    const view = inboxView(answer);
    if (view !== null) {
      // If it fails, the next answer that shows something new is noted.
      const body = JSON.stringify({ caller: parameters["caller"], ...view });
      await post("note_inbox_shown", body).catch(() => {});
    }
    return answer.body;
  }

  return {
    async callDatabase<Result>(functionName: string, parameters: Parameters): Promise<Result> {
      const text = textOf(await call(functionName, parameters));
      try {
        return JSON.parse(text) as Result;
      } catch {
        // The cause is left out: a parser's message quotes the answer.
        throw unavailable("an answer that is not JSON");
      }
    },
    async relayDatabase(functionName, parameters, listName) {
      const body = await call(functionName, parameters);
      if (listName !== undefined && isEmptyPage(body, listName)) noteOrdinary();
      if (!looksWhole(new Uint8Array(body))) throw unavailable("an answer that is cut off");
      return new Response(body, {
        headers: { "content-type": "application/json" },
      });
    },
  };
}

function callerOnly({ caller }: Parameters): string {
  return JSON.stringify({ caller });
}

/**
 * Whether a user was the first to use a name: see agents.authenticate.
 */
function isFirstUse({ response }: Answer): boolean {
  return response.headers.get("x-caller")?.endsWith("first") ?? false;
}

/** What note_inbox_shown takes, if an inbox showed something for the first time; else null. */
function inboxView({ response }: Answer): { agent_id: string; seen: string } | null {
  const [agent_id, seen] = response.headers.get("x-inbox-shown")?.split(" ") ?? [];
  return agent_id === undefined || seen === undefined ? null : { agent_id, seen };
}

function isJson({ response }: Answer): boolean {
  return response.headers.get("content-type")?.startsWith("application/json") ?? false;
}

/** Whether the bytes begin and end like a JSON object. To parse all of them would cost more. */
function looksWhole(bytes: Uint8Array): boolean {
  return bytes.find(isNoSpace) === OPENING_BRACE && bytes.findLast(isNoSpace) === CLOSING_BRACE;
}

/** Whether a short answer begins with an empty list. A long one always has entries. */
function isEmptyPage(body: ArrayBuffer, listName: string): boolean {
  if (body.byteLength > MOST_BYTES_OF_EMPTY_PAGE) return false;
  return new RegExp(`^\\s*\\{\\s*"${listName}"\\s*:\\s*\\[\\s*\\]`).test(textOf(body));
}

function isNoSpace(byte: number): boolean {
  return byte > 0x20;
}

function unavailable(reason: string): ServiceError {
  return new ServiceError("upstream_unavailable", { cause: new Error(reason) });
}

function textOf(bytes: ArrayBuffer): string {
  return new TextDecoder().decode(bytes);
}
