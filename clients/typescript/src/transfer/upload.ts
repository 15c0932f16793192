import { AgentError, errorOfFetch, isPassing } from "../http/agent_error.ts";
import { idleTimeout } from "../http/idle_timeout.ts";
import { HashedBytes } from "./hashed_bytes.ts";
import type { OpenedSource } from "./source.ts";

export interface UploadOptions {
  readonly fetch: typeof fetch;
  /** Called with how many bytes were sent. */
  readonly onBytes: (sent: number) => void;
  readonly signal?: AbortSignal | undefined;
}

/** Storage may take long to answer once it has all bytes. */
const IDLE_SECONDS = 300;
/** Nobody tells how far a body is that is sent as a whole; so it has the time of a slow line. */
const SLOWEST_BYTES_PER_SECOND = 8 * 1024;

/**
 * PUTs a source to an upload URL and answers its SHA-256. Two things are no error, for the commit
 * decides what has arrived: that something lies there already, because the answer to an earlier PUT
 * was lost; and that the answer to this one is lost, once all of a stream was sent. Throws
 * `source_size_mismatch`, `upload_refused`, `network_error`.
 */
export async function upload(
  url: string,
  source: OpenedSource,
  { fetch, onBytes, signal }: UploadOptions,
): Promise<string> {
  const seconds = source.whole === null
    ? IDLE_SECONDS
    : IDLE_SECONDS + source.size / SLOWEST_BYTES_PER_SECOND;
  const bytes = await HashedBytes.of(source, (passed) => {
    timeout.touch();
    if (source.whole === null) onBytes(passed);
  });
  const timeout = idleTimeout(seconds, signal);
  // A body that is there as a whole is hashed beside the request. A failure is met below.
  const hashed = source.whole === null ? null : bytes.digest();
  hashed?.catch(() => {});
  try {
    const response = await fetch(url, {
      method: "PUT",
      headers: {
        "content-type": "application/octet-stream",
        // Node heeds it. Where the platform does not, a stream is sent in chunks.
        ...(source.whole === null && { "content-length": String(source.size) }),
      },
      signal: timeout.signal,
      // With another `redirect`, or a `window`, Node keeps a copy of all that is sent.
      redirect: "error",
      window: null,
      ...(source.whole === null
        ? { body: bytes.stream(), duplex: "half" }
        : { body: source.whole as BodyInit }),
    } as RequestInit);
    const text = await response.text();
    if (!response.ok && !isThereAlready(text)) throw refusal(response.status, text);
    const digest = await bytes.digest();
    onBytes(source.size);
    return digest;
  } catch (cause) {
    const error = await bytes.failure() ?? errorOfFetch(cause, signal);
    const isLost = error instanceof AgentError && error.retryable;
    if (isLost && source.whole === null && bytes.isComplete) return await bytes.digest();
    throw error;
  } finally {
    timeout.end();
    await bytes.close().catch(() => {});
  }
}

/** Storage answers HTTP 400 to almost everything; the body has the status that is meant. */
interface StorageAnswer {
  readonly statusCode?: string;
  readonly error?: string;
  readonly code?: string;
}

function parseStorageAnswer(text: string): StorageAnswer {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

function isThereAlready(text: string): boolean {
  const { error, code } = parseStorageAnswer(text);
  return error === "Duplicate" || code === "KeyAlreadyExists";
}

function refusal(status: number, text: string): AgentError {
  const { statusCode, error, code } = parseStorageAnswer(text);
  const meant = Number(statusCode ?? status);
  return new AgentError({
    code: "upload_refused",
    message: meant === 413
      ? "Storage takes no file of this size."
      : `Storage refused the bytes: ${code ?? error ?? `HTTP ${status}`}.`,
    status,
    retryable: isPassing(status) || isPassing(meant),
    details: { status_code: meant, code: code ?? error ?? null },
  });
}
