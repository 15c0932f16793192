import { type Caller, callerArgument } from "../identity/callers/caller.ts";
import type { Operation } from "./operation.ts";
import type { RateLimits, Slot } from "../request/limits/rate_limits.ts";
import { parseBody } from "../request/reading/request_body.ts";
import { noteIds } from "../request/request_record.ts";

/** One call of an operation: by its own path, by MCP or by /token. */
export interface OperationCall {
  /** The body, not parsed yet. */
  readonly body: object;
  /** The caller that the headers identify. */
  readonly caller: Caller | null;
  readonly requestId: string;
  readonly request: Request;
  /** The slot of the caller's request. */
  readonly slot: Slot;
  readonly rateLimits: RateLimits;
}

/**
 * Runs an operation for a caller who is identified. Throws invalid_request, rate_limited, and what
 * the operation throws. An operation without identification is not told who is calling.
 */
export async function runOperation(
  { identification, limitedBy, request: schema, handle }: Operation,
  { body, caller, requestId, request, slot, rateLimits }: OperationCall,
): Promise<object> {
  const input = await parseBody(schema, body);
  noteIds(input as object);
  const ownSlot = limitedBy && rateLimits.enterAs(limitedBy(input));
  try {
    const answer = await handle({
      input,
      caller: callerArgument(identification === "none" ? null : caller, requestId),
      request,
      slot: ownSlot ?? slot,
    });
    // Ids of new objects, or of what a token gives access to, are only in the answer.
    if (!(answer instanceof Response)) noteIds(answer);
    return answer;
  } finally {
    ownSlot?.leave();
  }
}
