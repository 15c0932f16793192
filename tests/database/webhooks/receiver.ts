/** Receivers of webhooks on loopback, and a stack that may send to them. */
import assert from "node:assert/strict";
import { Webhook } from "standardwebhooks";
import type { StackOptions } from "../../../packages/local/stack/options.ts";
import { type OwnStack, withOwnStack } from "../own_stack.ts";

export interface Received {
  readonly path: string;
  /** In lower case. */
  readonly headers: Record<string, string>;
  readonly body: string;
}

export interface Message {
  readonly type: string;
  readonly timestamp: string;
  readonly data: {
    readonly event_id: string;
    readonly agent_id: string | null;
    readonly grant_id?: string;
    readonly artifact_id?: string;
    readonly position: string;
  };
}

export type Respond = (received: Received) => Response | Promise<Response>;

export interface Receiver extends AsyncDisposable {
  readonly url: string;
  readonly received: readonly Received[];
  /** How it answers from now on. Default: 204. */
  respond: Respond;
}

/** Listens on a free port. `port`: where an earlier one listened. */
export function startReceiver(
  respond: Respond = () => new Response(null, { status: 204 }),
  port = 0,
): Receiver {
  const received: Received[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port, onListen() {} }, async (request) => {
    const { pathname, search } = new URL(request.url);
    const one = {
      path: `${pathname}${search}`,
      headers: Object.fromEntries(request.headers),
      body: await request.text(),
    };
    received.push(one);
    return await receiver.respond(one);
  });
  const receiver: Receiver = {
    url: `http://127.0.0.1:${server.addr.port}/hook?key=of-the-receiver`,
    received,
    respond,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
  return receiver;
}

/** Parses what was received, by the official library. Throws if the signature is wrong. */
export function verify(secret: string, { headers, body }: Received): Message {
  return new Webhook(secret).verify(body, headers) as Message;
}

export interface Created {
  readonly webhook_id: string;
  readonly secret: string;
  readonly previous_secret_until: string | null;
}

export interface WebhookStack extends OwnStack {
  create(fields: Record<string, unknown>): Promise<Created>;
  /** Writes one event about an agent; returns its id. */
  record(agent?: string): Promise<string>;
  deliver(): Promise<{ delivered: number; failed: number }>;
  deliveries(webhookId: string): Promise<Record<string, unknown>[]>;
}

/**
 * A stack that may send to loopback by http. Only a test's own calls deliver, unless `kicks`.
 */
export async function withWebhooks(
  run: (on: WebhookStack) => Promise<void>,
  { functionVariables, kicks = false, ...options }: Partial<StackOptions> & { kicks?: boolean } =
    {},
): Promise<void> {
  await withOwnStack(async (own) => {
    // Nobody is told: the test decides when something is sent.
    if (!kicks) {
      await own.sql`update agents.webhook_kicks set kicked_at = 'infinity' where only_row`;
    }
    await run({
      ...own,
      create: (fields) => own.ask<Created>("/webhooks/put", fields),
      async record(agent = "planner") {
        const [row] = await own.sql`
          with made as materialized (
            select agents.record_event(
              '{"kind": "operator"}', null, 'agent.limited', ${agent}, null,
              '{"key": "a file''s name"}'
            )
          )
          select currval('agents.events_event_id_seq') as id from made`;
        return `evt_${row!["id"]}`;
      },
      deliver: () => own.ask("/webhooks/deliver"),
      async deliveries(webhookId) {
        const [row] = await own.sql`
          select public.agent_api_list_deliveries(${webhookId}, 1000) as page`;
        return row!["page"]["found"];
      },
    });
  }, {
    ...options,
    webhookHosts: ["127.0.0.1"],
    functionVariables: { WEBHOOKS_ALLOW_HTTP: "true", ...functionVariables },
  });
}

/** Waits until `holds` is true. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!await holds()) {
    assert.ok(Date.now() < deadline, "It never came true.");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
