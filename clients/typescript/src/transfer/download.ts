import type { Download } from "../contract/types.ts";
import { AgentError, errorOfFetch, isPassing } from "../http/agent_error.ts";
import { idleTimeout } from "../http/idle_timeout.ts";
import { pause, pauseMilliseconds } from "../http/retries.ts";
import { createSha256 } from "../platform/sha256.ts";

export interface DownloadOptions {
  readonly fetch: typeof fetch;
  /** How long it is tried to go on while no byte comes. */
  readonly retrySeconds: number;
  readonly onBytes?: ((received: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

const IDLE_SECONDS = 60;

/**
 * The bytes of an artifact, verified: the stream ends with an error where they are not those of the
 * digest. Where the connection breaks it goes on from the byte that it had reached, with a new URL
 * of `open` when the old one has run out.
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
  let failures = 0;
  let deadline = Infinity;
  while (received < size) {
    try {
      for await (const chunk of readFrom(url, received, options)) {
        received += chunk.byteLength;
        if (received > size) throw mismatch(opened, { received });
        failures = 0;
        hash.update(chunk);
        options.onBytes?.(received);
        yield chunk;
      }
      if (received < size) throw broken("The download ended before its last byte.");
    } catch (error) {
      if (!(error instanceof AgentError) || !error.retryable) throw error;
      if (failures === 0) deadline = performance.now() + options.retrySeconds * 1000;
      const wait = pauseMilliseconds(failures++, null);
      if (performance.now() + wait > deadline) throw error;
      await pause(wait, options.signal);
      // The URL has run out. Another one may count as another download.
      if (error.code === "download_broken" && error.status === 400) url = (await open()).url;
    }
  }
  if (hash.digest() !== sha256) throw mismatch(opened, { received });
}

/** The bytes behind a URL from one on. */
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
      // What is counted is what is stored, so nothing may be compressed on the way.
      headers: { "accept-encoding": "identity", ...(start > 0 && { range: `bytes=${start}-` }) },
      signal: timeout.signal,
    });
    if (!response.ok) {
      const text = await response.text();
      throw refused(response.status, text);
    }
    // Who does not know ranges begins at the beginning.
    let known = response.status === 206 ? 0 : start;
    reader = response.body!.getReader();
    while (true) {
      timeout.touch();
      const { done, value } = await reader.read();
      if (done) return;
      // Who takes the bytes may take any time.
      timeout.rest();
      const chunk = value.subarray(Math.min(known, value.byteLength));
      known -= value.byteLength - chunk.byteLength;
      if (chunk.byteLength > 0) yield chunk;
    }
  } catch (cause) {
    throw errorOfFetch(cause, signal);
  } finally {
    timeout.end();
    await reader?.cancel().catch(() => {});
  }
}

/** The URL has run out, or Storage has no time: another URL is asked for, and tried. */
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

function mismatch(opened: Download, { received }: { readonly received: number }): AgentError {
  return new AgentError({
    code: "download_mismatch",
    message: "What was downloaded is not what was committed. Throw it away, and get it again.",
    details: { expected_size: opened.size, expected_sha256: opened.sha256, received },
  });
}
