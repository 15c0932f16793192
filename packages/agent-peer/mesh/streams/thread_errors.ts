import { TcpError, type TcpErrorCode } from "../../ip/tcp_error.ts";
import type { SentError } from "./port_messages.ts";

const TCP_CODES: readonly string[] = [
  "ECONNREFUSED",
  "ECONNRESET",
  "ETIMEDOUT",
  "ENETUNREACH",
  "EADDRINUSE",
  "ECONNABORTED",
  "EPIPE",
  "ENOBUFS",
] satisfies readonly TcpErrorCode[];

/** An error, in the form that is sent to the other thread. */
export function toSentError(error: unknown): SentError {
  if (error instanceof TcpError) return { code: error.code, message: error.message };
  return { code: null, message: error instanceof Error ? error.message : String(error) };
}

export function fromSentError({ code, message }: SentError): Error {
  return code !== null && TCP_CODES.includes(code)
    ? new TcpError(code as TcpErrorCode)
    : new Error(message);
}
