import { type Caller, callerArgument } from "../request/caller.ts";
import type { Operation } from "./operation.ts";
import type { RateLimits, Slot } from "../request/rate_limits.ts";
import { parseBody } from "../request/request_body.ts";
import { noteIds } from "../request_record.ts";

/** One call of an operation, by whichever way it came in. */
export interface OperationCall {
  /** What the operation's schema is to parse. */
  readonly body: object;
  /** Whom the request's headers identify. */
  readonly caller: Caller | null;
  readonly requestId: string;
  readonly request: Request;
  /** The place of the caller's request. */
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
  const input = parseBody(schema, body);
  noteIds(input as object);
  const ownSlot = limitedBy && rateLimits.enterAs(limitedBy(input));
  try {
    const answer = await handle({
      input,
      caller: callerArgument(identification === "none" ? null : caller, requestId),
      request,
      slot: ownSlot ?? slot,
    });
    // What was made, or what a token led to, stands in the answer alone.
    if (!(answer instanceof Response)) noteIds(answer);
    return answer;
  } finally {
    ownSlot?.leave();
  }
}
