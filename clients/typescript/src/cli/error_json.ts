import { AgentError } from "../http/agent_error.ts";
import { UsageError } from "./exit_codes.ts";

/** What went wrong, for a program: in the form of the service's errors. */
export function errorJson(error: unknown): object {
  if (!(error instanceof AgentError)) {
    const code = error instanceof UsageError ? "usage" : "failed";
    return { error: { code, message: String((error as Error)?.message ?? error) } };
  }
  const { code, message, status, retryable, requestId, details } = error;
  return { error: { code, message, status, retryable, request_id: requestId, details } };
}
