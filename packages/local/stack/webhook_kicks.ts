import pg from "pg";
import { reasonOf } from "../../command/command_error.ts";
import type { StackOptions } from "./options.ts";

/** Where agents.kick_deliveries tells that deliveries wait. */
const CHANNEL = "agent_webhooks";
const RECONNECT_MILLISECONDS = 500;

interface DeliveringService {
  /** Origin of the stack's gateway. */
  readonly url: string;
  readonly secretKey: string;
  /** For the role `postgres`. */
  readonly databaseUrl: string;
}

/**
 * Calls /webhooks/deliver whenever the database tells that deliveries wait, as pg_net does in a
 * hosted project, and every `sweepSeconds` for what is tried again. A failed call is only reported.
 */
export function startWebhookKicks(
  { sweepSeconds, onProgress }: Pick<StackOptions, "sweepSeconds" | "onProgress">,
  { url, secretKey, databaseUrl }: DeliveringService,
): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const calls = new Set<Promise<void>>();

  function deliver(): void {
    const call = post({ url, secretKey, signal }).catch((cause) => {
      if (!signal.aborted) onProgress(`Webhooks were not delivered: ${reasonOf(cause)}`);
    }).finally(() => calls.delete(call));
    calls.add(call);
  }

  async function listen(): Promise<void> {
    while (!signal.aborted) {
      const client = new pg.Client({ connectionString: databaseUrl });
      const ended = Promise.withResolvers<void>();
      for (const event of ["error", "end"] as const) client.on(event, () => ended.resolve());
      signal.addEventListener("abort", () => ended.resolve(), { once: true });
      client.on("notification", deliver);
      // While the database restarts, it refuses connections.
      await client.connect()
        .then(() => client.query(`listen ${CHANNEL}`))
        .then(() => ended.promise)
        .catch(() => {});
      await client.end().catch(() => {});
      if (!signal.aborted) await pause(RECONNECT_MILLISECONDS, signal);
    }
  }

  /** One query without webhooks, so that a stack without them is quiet. */
  async function deliverIfAny(): Promise<void> {
    const client = new pg.Client({ connectionString: databaseUrl });
    client.on("error", () => {});
    try {
      await client.connect();
      const { rows } = await client.query(
        "select from agents.webhooks w where w.ended_at is null limit 1",
      );
      if (rows.length > 0) deliver();
    } finally {
      await client.end().catch(() => {});
    }
  }

  const listening = listen();
  const timer = setInterval(() => void deliverIfAny().catch(() => {}), sweepSeconds * 1000);

  return {
    async stop() {
      clearInterval(timer);
      stopping.abort();
      await listening;
      await Promise.all(calls);
    },
  };
}

async function post(
  { url, secretKey, signal }: Omit<DeliveringService, "databaseUrl"> & { signal: AbortSignal },
): Promise<void> {
  const response = await fetch(`${url}/functions/v1/agent-artifacts/webhooks/deliver`, {
    method: "POST",
    headers: { apikey: secretKey },
    body: "{}",
    signal,
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`HTTP ${response.status} ${text}`);
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
}
