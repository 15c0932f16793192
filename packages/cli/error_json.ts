import { AgentError } from "../agent-files/errors/agent_error.ts";
import { TcpError } from "../agent-peer/ip/tcp_error.ts";
import { MeshError } from "../agent-peer/mesh/mesh_error.ts";
import { UsageError } from "../command/usage_error.ts";
import { NotLoggedInError } from "./exit_codes.ts";

/** An error for a program, in the form of the service's errors. */
export function errorJson(error: unknown): object {
  if (!(error instanceof AgentError)) {
    return {
      error: {
        code: codeOf(error),
        message: String((error as Error)?.message ?? error),
      },
    };
  }
  const { code, message, status, retryable, requestId, details } = error;
  return {
    error: { code, message, status, retryable, request_id: requestId, details },
  };
}

function codeOf(error: unknown): string {
  if (error instanceof MeshError || error instanceof TcpError) return error.code;
  if (error instanceof UsageError) return "usage";
  return error instanceof NotLoggedInError ? "not_logged_in" : "failed";
}
