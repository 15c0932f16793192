import { SigningSecrets } from "./signing_secrets.ts";

/** The SQL functions whose calls concern deliveries. */
export const CONCERN_DELIVERIES = new Set([
  "agent_api_take_deliveries",
  "agent_api_requeue_deliveries",
  "agent_api_create_webhook",
  "agent_api_rotate_webhook",
  "agent_api_delete_webhook",
]);

interface Outcome {
  readonly webhook_id: string;
  readonly event_id: number;
  readonly attempt: number;
  readonly status: number | null;
}

interface Taken {
  readonly webhooks: readonly {
    readonly webhook_id: string;
    readonly url: string;
    readonly deliveries: readonly {
      readonly event_id: number;
      readonly message_id: string;
      readonly attempt: number;
    }[];
  }[];
}

/** The last attempt of a delivery that was not requeued since. */
interface Attempt {
  readonly webhookId: string;
  readonly number: number;
  /** Milliseconds since 1970, by the database's clock. */
  readonly leasedUntil: number;
  outcome: "none" | "failed" | "arrived";
  /** After a failure: not before. */
  readyAt: number;
}

const LONGEST_PAUSE = 3_600_000;

/** What must not be. */
export interface DeliveryFaults {
  readonly sentTwiceAtOnce: string[];
  readonly sentAfterArrival: string[];
  readonly sentTooSoon: string[];
  readonly sentAfterEnd: string[];
}

/**
 * Watches the calls of SQL functions at the database, where each has its effect, whatever becomes
 * of its answer.
 */
export class HandedOut {
  readonly secrets = new SigningSecrets();
  readonly faults: DeliveryFaults = {
    sentTwiceAtOnce: [],
    sentAfterArrival: [],
    sentTooSoon: [],
    sentAfterEnd: [],
  };
  readonly #attempts = new Map<string, Attempt>();
  readonly #ended = new Set<string>();
  /** How often each message was handed out, by its receiver and its id. */
  readonly #counts = new Map<string, number>();

  /** A call of an SQL function has succeeded. `at`: by the database's clock. */
  note(sqlFunction: string, request: string, answer: string, at: number): void {
    const now = Math.floor(at);
    if (sqlFunction === "agent_api_take_deliveries") {
      const { outcomes, lease_seconds } = JSON.parse(request);
      for (const outcome of outcomes as Outcome[]) this.#end(outcome, now);
      this.#handOut(JSON.parse(answer), now, now + 1000 * Number(lease_seconds));
    } else if (sqlFunction === "agent_api_requeue_deliveries") {
      this.#forget(JSON.parse(request).webhook_id);
    } else if (sqlFunction === "agent_api_create_webhook") {
      const { webhook } = JSON.parse(request);
      this.secrets.made(webhook.webhook_id, webhook.encrypted_secret);
    } else if (sqlFunction === "agent_api_rotate_webhook") {
      const { webhook_id, encrypted_secret, overlap_seconds } = JSON.parse(request);
      this.secrets.rotated(webhook_id, encrypted_secret, 1000 * overlap_seconds, now);
    } else if (sqlFunction === "agent_api_delete_webhook") {
      this.#ended.add(JSON.parse(request).webhook_id);
    }
  }

  /** How often the message was handed out for this receiver. */
  count(url: string, messageId: string): number {
    return this.#counts.get(`${url} ${messageId}`) ?? 0;
  }

  /** After a restore, the database knows of other attempts. What was sent was sent. */
  forget(): void {
    this.#attempts.clear();
    this.#ended.clear();
  }

  #forget(webhookId: string): void {
    for (const [name, attempt] of this.#attempts) {
      if (attempt.webhookId === webhookId) this.#attempts.delete(name);
    }
  }

  #end({ webhook_id, event_id, attempt, status }: Outcome, now: number): void {
    const last = this.#attempts.get(`${webhook_id} ${event_id}`);
    if (status === 410) this.#ended.add(webhook_id);
    if (last === undefined || last.outcome === "arrived") return;
    if (status !== null && status >= 200 && status < 300) {
      last.outcome = "arrived";
    } else if (last.number === attempt) {
      last.outcome = "failed";
      last.readyAt = now + Math.min(LONGEST_PAUSE, 10_000 * 2 ** (attempt - 1));
    }
  }

  #handOut({ webhooks }: Taken, now: number, leasedUntil: number): void {
    for (const { webhook_id: webhookId, url, deliveries } of webhooks) {
      if (this.#ended.has(webhookId)) this.faults.sentAfterEnd.push(url);
      for (const { event_id, message_id, attempt: number } of deliveries) {
        const name = `${webhookId} ${event_id}`;
        const last = this.#attempts.get(name);
        this.#judge(last, `${message_id} for ${url}`, now);
        this.#attempts.set(name, { webhookId, number, leasedUntil, outcome: "none", readyAt: 0 });
        this.#counts.set(`${url} ${message_id}`, this.count(url, message_id) + 1);
        this.secrets.handOut(webhookId, `${url} ${message_id}`, now);
      }
    }
  }

  #judge(last: Attempt | undefined, what: string, now: number): void {
    const { faults } = this;
    if (last === undefined) return;
    if (last.outcome === "arrived") faults.sentAfterArrival.push(what);
    else if (last.outcome === "failed" && now < last.readyAt) faults.sentTooSoon.push(what);
    else if (last.outcome === "none" && now < last.leasedUntil) faults.sentTwiceAtOnce.push(what);
  }
}
