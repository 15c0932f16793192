import { type Caller, callerArgument } from "./caller.ts";
import type { Operation } from "./operation.ts";
import { parseBody } from "./request_body.ts";

/** One call of an operation, by whichever way it came in. */
export interface OperationCall {
  /** What the operation's schema is to parse. */
  readonly body: object;
  /** Whom the request's headers identify. */
  readonly caller: Caller | null;
  readonly requestId: string;
  readonly request: Request;
}

/**
 * Runs an operation for a caller who is identified. Throws invalid_request, and what the operation
 * throws. An operation without identification is not told who is calling.
 */
export async function runOperation(
  { identification, request: schema, handle }: Operation,
  { body, caller, requestId, request }: OperationCall,
): Promise<object> {
  return await handle({
    input: parseBody(schema, body),
    caller: callerArgument(identification === "none" ? null : caller, requestId),
    request,
  });
}
