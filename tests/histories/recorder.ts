import { createHash } from "node:crypto";
import { headersOf, type JsonObject, type Sender } from "../conformance/client.ts";
import { DELIVERY, DOWNLOAD, type Entry } from "./history.ts";

/**
 * Longer than several deadlines of a function in a row, because one request may meet more than one.
 */
const PATIENCE_MILLISECONDS = 45_000;

/** A request of a history that has not been sent yet. */
export interface Intention {
  readonly operation: string;
  readonly agent: string;
  readonly as: Sender;
  readonly request: JsonObject;
}

/** Sends requests to one deployment, and records all of them with their answers. */
export class Recorder {
  readonly history: Entry[] = [];
  readonly #url: string;
  readonly #startedAt = performance.now();
  /** By the clock that the service has, too. */
  readonly beganAt = new Date();

  constructor(url: string) {
    this.#url = url;
  }

  async ask({ operation, agent, as, request }: Intention): Promise<Entry> {
    return await this.#record({ operation, agent, request }, async (signal) => {
      const response = await fetch(`${this.#url}/functions/v1${operation}`, {
        method: "POST",
        headers: headersOf(as),
        body: JSON.stringify(request),
        signal,
      });
      return { status: response.status, answer: parse(await response.text()) };
    });
  }

  /** Calls one of the SQL functions for the operator, as agentops does. */
  async call(name: string, operator: Sender, parameters: JsonObject): Promise<Entry> {
    const asked = { operation: `rpc/${name}`, agent: "operator", request: parameters };
    return await this.#record(asked, async (signal) => {
      const response = await fetch(`${this.#url}/rest/v1/rpc/agent_api_${name}`, {
        method: "POST",
        headers: { ...headersOf(operator), "content-type": "application/json" },
        body: JSON.stringify(parameters),
        signal,
      });
      return { status: response.status, answer: parse(await response.text()) };
    });
  }

  /** Records what the receiver of a webhook gets, and what it answers to that. */
  async receive(name: string, request: JsonObject, answer: () => Promise<number>): Promise<number> {
    const entry = await this.#record(
      { operation: DELIVERY, agent: name, request },
      async () => ({ status: await answer(), answer: null }),
    );
    return entry.status;
  }

  /** GETs the URL from /open or /fetch. The URL may have expired by then. */
  async download(agent: string, { answer }: Entry): Promise<void> {
    const { url, artifact_id, sha256 } = answer as { url: string } & JsonObject;
    const request = { artifact_id: artifact_id!, sha256: sha256! };
    await this.#record({ operation: DOWNLOAD, agent, request }, async (signal) => {
      const response = await fetch(url, { signal });
      const bytes = new Uint8Array(await response.arrayBuffer());
      const digest = createHash("sha256").update(bytes).digest("hex");
      return { status: response.status, answer: { sha256: digest } };
    });
  }

  /** PUTs the bytes of an artifact. Ignores the result: /commit says whether the bytes arrived. */
  async upload(url: string, content: string): Promise<void> {
    const signal = AbortSignal.timeout(PATIENCE_MILLISECONDS);
    await fetch(url, { method: "PUT", body: content, signal })
      .then((response) => response.body?.cancel())
      .catch(() => {});
  }

  async #record(
    asked: Pick<Entry, "operation" | "agent" | "request">,
    send: (signal: AbortSignal) => Promise<Pick<Entry, "status" | "answer">>,
  ): Promise<Entry> {
    const start = this.#now();
    const answered = await send(AbortSignal.timeout(PATIENCE_MILLISECONDS))
      .catch(() => ({ status: 0, answer: null }));
    const entry = { ...asked, start, end: this.#now(), ...answered };
    this.history.push(entry);
    return entry;
  }

  #now(): number {
    return performance.now() - this.#startedAt;
  }
}

function parse(text: string): JsonObject | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
