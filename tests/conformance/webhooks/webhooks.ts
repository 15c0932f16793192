/** Webhooks of the service under test, to which nothing is sent. */
import assert from "node:assert/strict";
import { type Answer, post, SECRET_KEY, succeed, SUPABASE_URL } from "../client.ts";

/** A name that never gets an address (RFC 6761, 6.4, and RFC 2606, 3). */
export const QUIET_URL = "https://hooks.example.com/agents";

export interface Webhook {
  readonly webhook_id: string;
  readonly url: string;
  readonly label: string | null;
  readonly types: string[] | null;
  readonly previous_secret_until: string | null;
  readonly secret: string;
}

const PATH = "/agent-artifacts/webhooks/put";
const made = new Set<string>();

export function tryPutWebhook<Body = Webhook>(body: object): Promise<Answer<Body>> {
  return post<Body>(PATH, { as: "operator", body });
}

/** No event has the type of this webhook, so nothing is ever sent to it. */
export async function putWebhook(fields: object = {}): Promise<Webhook> {
  const body = { url: QUIET_URL, types: ["nothing.happens"], ...fields };
  const webhook = await succeed<Webhook>(PATH, { as: "operator", body });
  made.add(webhook.webhook_id);
  return webhook;
}

export async function deleteWebhook(webhook_id: string): Promise<void> {
  await callAsOperator("delete_webhook", { webhook_id });
}

export async function deleteMadeWebhooks(): Promise<void> {
  for (const webhook_id of made) await deleteWebhook(webhook_id);
  made.clear();
}

/** The live ones. */
export async function listWebhooks(): Promise<Webhook[]> {
  const all: (Webhook & { ended_at: string | null })[] = [];
  for (let after: string | null = ""; after !== null;) {
    const page: { found: typeof all; next: string | null } = await callAsOperator("list_webhooks", {
      max_entries: 100,
      after,
    });
    all.push(...page.found);
    after = page.next;
  }
  return all.filter(({ ended_at }) => ended_at === null);
}

async function callAsOperator<Result>(name: string, parameters: object): Promise<Result> {
  const response = await fetch(`${SUPABASE_URL}/rest/v1/rpc/agent_api_${name}`, {
    method: "POST",
    headers: { apikey: SECRET_KEY, "content-type": "application/json" },
    body: JSON.stringify(parameters),
  });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text) as Result;
}
