import { AgentFiles, AgentMesh, type ConnectionOptions } from "../../index.ts";

export interface Asked {
  readonly path: string;
  readonly body: Record<string, unknown>;
  /** Answers the request. */
  readonly answer: (body: object, status?: number) => void;
  readonly signal: AbortSignal;
}

/** The clients of one agent, at a service whose answers the test gives one by one. */
export function clients(key: string, options: Partial<ConnectionOptions> = {}) {
  const waiting: Asked[] = [];
  let onRequest = () => {};
  const ofFetch: typeof fetch = (input, init) =>
    new Promise((resolve, reject) => {
      const signal = init!.signal!;
      signal.addEventListener("abort", () => reject(signal.reason));
      waiting.push({
        path: new URL(String(input)).pathname.replace("/functions/v1", ""),
        body: JSON.parse(init!.body as string),
        answer: (body, status = 200) => resolve(Response.json(body, { status })),
        signal,
      });
      onRequest();
    });
  const connection = { url: "http://127.0.0.1:1", key, fetch: ofFetch, ...options };
  return {
    files: new AgentFiles(connection),
    mesh: new AgentMesh(connection),
    /** The next request that has not been aborted. */
    async next(): Promise<Asked> {
      while (true) {
        while (waiting.length > 0) {
          const asked = waiting.shift()!;
          if (!asked.signal.aborted) return asked;
        }
        await new Promise<void>((resolve) => onRequest = resolve);
      }
    },
  };
}

// Answers of /inbox and /wait without news.
export const EMPTY = { grants: [], latest: "1:1:", next_cursor: null };
export const QUIET = { heartbeat_interval_seconds: 30 };
