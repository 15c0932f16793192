import { AgentError, isPassing } from "../errors/agent_error.ts";
import type { Connection } from "../http/connection.ts";
import { idleTimeout } from "../http/idle_timeout.ts";
import { errorOfFetch } from "../errors/network_error.ts";
import { isWorkerd } from "../platform/platform.ts";
import { HashedBytes } from "./hashed_bytes.ts";
import type { OpenedSource } from "./source.ts";

export interface UploadOptions {
  readonly fetch: Connection["fetch"];
  /** Called with the number of bytes that were sent. */
  readonly onBytes: (sent: number) => void;
  readonly signal?: AbortSignal | undefined;
}

/** Storage may take long to answer once it has all bytes. */
const IDLE_SECONDS = 300;
/** A body that is sent as a whole reports no progress, so it gets the time of a slow connection. */
const SLOWEST_BYTES_PER_SECOND = 8 * 1024;

/**
 * PUTs a source to an upload URL, and returns its SHA-256. In two cases it cannot tell whether the
 * bytes have arrived, and leaves that to the commit: Storage already has an object there, because
 * the answer to an earlier PUT was lost; or the answer to this PUT was lost after all of a stream
 * was sent. Throws `source_size_mismatch`, `upload_refused`, `network_error`.
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
  // A body that is sent as a whole is hashed during the request. A failure is handled below.
  const hashed = source.whole === null ? null : bytes.digest();
  hashed?.catch(() => {});
  try {
    const response = await fetch(url, {
      method: "PUT",
      headers: {
        "content-type": "application/octet-stream",
        // Node uses it. Other platforms ignore it, and send a stream in chunks.
        ...(source.whole === null && { "content-length": String(source.size) }),
      },
      signal: timeout.signal,
      // With another `redirect`, or a `window`, Node keeps a copy of all that it sends. In workerd,
      // which has no "error", a redirect is an answer like any other refusal.
      redirect: isWorkerd ? "manual" : "error",
      window: null,
      ...(source.whole === null
        ? { body: bytes.stream(), duplex: "half" }
        : { body: source.whole as BodyInit }),
    } as RequestInit);
    const text = await response.text();
    if (!response.ok && !isThereAlready(text)) {
      throw refusal(response.status, text);
    }
    const digest = await bytes.digest();
    onBytes(source.size);
    return digest;
  } catch (cause) {
    const error = await bytes.failure() ?? errorOfFetch(cause, { url, signal });
    const isLost = error instanceof AgentError && error.retryable;
    if (isLost && source.whole === null && bytes.isComplete) {
      return await bytes.digest();
    }
    throw error;
  } finally {
    timeout.end();
    await bytes.close().catch(() => {});
  }
}

/** Storage sends HTTP 400 for almost every error. The body has the specific status. */
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
      ? "The file is larger than Storage accepts."
      : `Storage refused the upload: ${code ?? error ?? `HTTP ${status}`}.`,
    status,
    retryable: isPassing(status) || isPassing(meant),
    details: { status_code: meant, code: code ?? error ?? null },
  });
}
