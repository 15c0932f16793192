import { reasonOf } from "../../../command/command_error.ts";
import { operatorFetch } from "../../connection/operator_fetch.ts";

/** The outcome of one request. Times are this machine's, in milliseconds since 1970. */
export interface Reply {
  /** 0: there was no answer. */
  readonly status: number;
  readonly headers: Headers;
  /** Parsed if it is JSON, else its beginning. Without an answer, the reason. */
  readonly body: unknown;
  readonly sentAt: number;
  readonly receivedAt: number;
}

/** Long enough for a function's cold start and for a call of the database. */
const DEADLINE_MILLISECONDS = 20_000;

/** Sends a request. A missing answer is a fact like any other, not an error. */
export async function ask(url: URL, request: RequestInit = {}): Promise<Reply> {
  // Loaded before the clock starts: the times tell how far the clocks differ.
  const fetch = await operatorFetch();
  const sentAt = Date.now();
  try {
    const response = await fetch(url, {
      ...request,
      signal: AbortSignal.timeout(DEADLINE_MILLISECONDS),
    });
    const text = await response.text();
    const receivedAt = Date.now();
    const { status, headers } = response;
    return { status, headers, body: parse(text), sentAt, receivedAt };
  } catch (cause) {
    return {
      status: 0,
      headers: new Headers(),
      body: reasonOf(cause),
      sentAt,
      receivedAt: Date.now(),
    };
  }
}

/** A field of a reply's body; undefined if the body is no object or lacks the field. */
export function fieldOf({ body }: Reply, name: string): unknown {
  return body !== null && typeof body === "object"
    ? (body as Record<string, unknown>)[name]
    : undefined;
}

/** A reply's error in words, whether from a function, PostgREST, Storage or a gateway. */
export function wordsOf(reply: Reply): string {
  if (reply.status === 0) return `nobody answered (${String(reply.body)})`;
  const error = fieldOf(reply, "error");
  const message = error !== null && typeof error === "object" && "message" in error
    ? error.message
    : fieldOf(reply, "message") ?? fieldOf(reply, "msg") ?? reply.body;
  return `HTTP ${reply.status}, ${typeof message === "string" ? message : JSON.stringify(message)}`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text.slice(0, 200);
  }
}
