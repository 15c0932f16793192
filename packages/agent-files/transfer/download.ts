import type { Download } from "../contract/types.ts";
import { AgentError, isPassing } from "../errors/agent_error.ts";
import type { Connection } from "../http/connection.ts";
import { idleTimeout } from "../http/idle_timeout.ts";
import { errorOfFetch } from "../errors/network_error.ts";
import { Failures, type Retry } from "../http/retries.ts";
import { createSha256 } from "../platform/sha256.ts";

export interface DownloadOptions {
  readonly fetch: Connection["fetch"];
  /** How long to retry while no byte arrives. */
  readonly retrySeconds: number;
  readonly onRetry?: ((retry: Retry) => void) | undefined;
  readonly onBytes?: ((received: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

const IDLE_SECONDS = 60;

/**
 * The bytes of an artifact. The stream ends with an error if they do not have the expected digest.
 * If the connection breaks, the download continues from the byte that it had reached; if the URL
 * has expired, with a new one from `open`.
 */
export function verifiedBytes(
  opened: Download,
  open: () => Promise<Download>,
  options: DownloadOptions,
): ReadableStream<Uint8Array> {
  const bytes = receive(opened, open, options);
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await bytes.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await bytes.return();
    },
  }, { highWaterMark: 0 });
}

async function* receive(
  opened: Download,
  open: () => Promise<Download>,
  options: DownloadOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { size, sha256 } = opened;
  const hash = await createSha256();
  let { url } = opened;
  let received = 0;
  const { retrySeconds: seconds, signal, onRetry } = options;
  const failures = new Failures({ seconds, signal, onRetry });
  while (received < size) {
    try {
      for await (const chunk of readFrom(url, received, options)) {
        received += chunk.byteLength;
        if (received > size) throw mismatch(opened, { received });
        failures.reset();
        hash.update(chunk);
        options.onBytes?.(received);
        yield chunk;
      }
      if (received < size) {
        throw broken("The download ended before its last byte.");
      }
    } catch (error) {
      await failures.pauseAfter(error);
      // Only an expired URL is replaced: a new one may count as another download.
      if (isExpiredUrl(error)) url = (await open()).url;
    }
  }
  if (hash.digest() !== sha256) throw mismatch(opened, { received });
}

function isExpiredUrl(error: unknown): boolean {
  return error instanceof AgentError && error.code === "download_broken" &&
    error.status === 400;
}

/** The bytes of a URL, from the byte `start` on. */
async function* readFrom(
  url: string,
  start: number,
  { fetch, signal }: DownloadOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  signal?.throwIfAborted();
  const timeout = idleTimeout(IDLE_SECONDS, signal);
  let reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  try {
    const response = await fetch(url, {
      // Bytes are counted as they are stored, so they must not be compressed.
      headers: {
        "accept-encoding": "identity",
        ...(start > 0 && { range: `bytes=${start}-` }),
      },
      signal: timeout.signal,
    });
    if (!response.ok) {
      const text = await response.text();
      throw refused(response.status, text);
    }
    // A server that ignores ranges sends the file from its first byte.
    let known = response.status === 206 ? 0 : start;
    reader = response.body!.getReader();
    while (true) {
      timeout.touch();
      const { done, value } = await reader.read();
      if (done) return;
      // The reader of the stream may take any time.
      timeout.rest();
      const chunk = value.subarray(Math.min(known, value.byteLength));
      known -= value.byteLength - chunk.byteLength;
      if (chunk.byteLength > 0) yield chunk;
    }
  } catch (cause) {
    throw errorOfFetch(cause, { url, signal });
  } finally {
    timeout.end();
    await reader?.cancel().catch(() => {});
  }
}

/** Storage answers 400 when the URL has expired. That is retried with a new URL. */
function refused(status: number, text: string): AgentError {
  return new AgentError({
    code: "download_broken",
    message: `Storage answered HTTP ${status} to the download.`,
    status,
    retryable: status === 400 || isPassing(status),
    details: { body: text.slice(0, 200) },
  });
}

function broken(message: string): AgentError {
  return new AgentError({ code: "download_broken", message, retryable: true });
}

function mismatch(
  opened: Download,
  { received }: { readonly received: number },
): AgentError {
  return new AgentError({
    code: "download_mismatch",
    message:
      "The downloaded bytes are not those that were committed. Discard them, and download again.",
    details: {
      expected_size: opened.size,
      expected_sha256: opened.sha256,
      received,
    },
  });
}
