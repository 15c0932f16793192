/** A receiver that is down for long, while the parts that deliver are killed. */
import assert from "node:assert/strict";
import postgres from "postgres";
import {
  awaitOk,
  launch,
  openStateDirectory,
  readEnvironment,
} from "../../../packages/local/tests/stack/stack_process.ts";
import {
  type Created,
  type Received,
  startReceiver,
  until,
  verify,
} from "../../database/webhooks/receiver.ts";
import { KILLS, type Target } from "../../histories/kills.ts";

const FUNCTION = "the function agent-artifacts";
const PARTS = Object.keys(KILLS).filter((part) => part !== "the function agent-mesh");
const DOWN_SECONDS = 600;
const EVENTS_AT_ONCE = 4;

interface Delivery {
  readonly message_id: string;
  readonly attempts: number;
  readonly last_status: number | null;
  readonly last_error: string | null;
  readonly is_delivered: boolean;
  readonly is_parked: boolean;
}

class Service {
  readonly target: Target;
  readonly #secretKey: string;
  #files = 0;

  constructor(target: Target, secretKey: string) {
    this.target = target;
    this.#secretKey = secretKey;
  }

  /** Repeats a request of the operator until it succeeds: parts of the service are killed. */
  async ask<Answer>(path: string, body: object = {}): Promise<Answer> {
    const answers: (Answer | null)[] = [];
    await until(async () => {
      const answer = await this.#askOnce(path, body).catch(() => null);
      answers.push(answer as Answer | null);
      return answer !== null;
    });
    return answers.at(-1)!;
  }

  async #askOnce(path: string, body: object): Promise<unknown> {
    const response = await fetch(`${this.target.service.url}/functions/v1/agent-artifacts${path}`, {
      method: "POST",
      headers: { apikey: this.#secretKey },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (response.ok) return JSON.parse(text);
    assert.ok(response.status >= 500, text);
    return null;
  }

  /** Writes events: each registered file is one, or two if an answer was lost. */
  async writeEvents(): Promise<void> {
    for (let count = 0; count < EVENTS_AT_ONCE; count += 1) {
      this.#files += 1;
      const key = `file-${this.#files}`;
      const file = { agent_id: "planner", key, mime: "text/plain", size: 1, ttl_days: 1 };
      await this.ask("/register", file);
    }
  }

  async kill(part: string): Promise<void> {
    await KILLS[part]!(this.target);
    for (const name of ["agent-artifacts", "agent-mesh"]) {
      await awaitOk(`${this.target.service.url}/functions/v1/${name}/health`);
    }
  }

  async query<Result>(run: (sql: postgres.Sql) => Promise<Result>): Promise<Result> {
    const { SUPABASE_SUPERUSER_DB_URL } = await readEnvironment(this.target.stateDir);
    const sql = postgres(SUPABASE_SUPERUSER_DB_URL!, { max: 1, onnotice: () => {} });
    try {
      return await run(sql);
    } finally {
      await sql.end();
    }
  }

  /** As if so much time had passed for everything that is not delivered. */
  async pass(seconds: number): Promise<void> {
    await this.query((sql) =>
      sql`
        update agents.webhook_deliveries
        set next_at = next_at - make_interval(secs => ${seconds}),
          leased_until = leased_until - make_interval(secs => ${seconds}),
          first_attempt_at = first_attempt_at - make_interval(secs => ${seconds})
        where delivered_at is null`
    );
  }

  async deliveries(): Promise<Delivery[]> {
    return await this.query(async (sql) => [
      ...await sql<Delivery[]>`
        select message_id, attempts, last_status, last_error,
          delivered_at is not null as is_delivered, parked_at is not null as is_parked
        from agents.webhook_deliveries order by event_id`,
    ]);
  }

  /** Events that must have a delivery. */
  async events(): Promise<string[]> {
    return await this.query(async (sql) => {
      const rows = await sql<{ id: string }[]>`
        select 'evt_' || event_id as id from agents.events
        where action = 'artifact.registered' order by event_id`;
      return rows.map(({ id }) => id);
    });
  }
}

/** The events that arrived, each with a valid signature. */
function arrived(secret: string, received: readonly Received[]): Set<string> {
  return new Set(received.map((one) => verify(secret, one).data.event_id));
}

Deno.test("a receiver that is down for ten minutes, while every part that delivers is killed → then each event arrives; one that is always refused holds up no other", async () => {
  await using state = await openStateDirectory();
  const environment = { WEBHOOKS_ALLOW_HTTP: "true", WEBHOOK_HOSTS: "127.0.0.1" };
  const service = await launch({ stateDir: state.path, environment });
  await service.ready();
  const target: Target = { stateDir: state.path, environment, service };
  try {
    const { SUPABASE_SECRET_KEY } = await readEnvironment(state.path);
    const on = new Service(target, SUPABASE_SECRET_KEY!);
    const down = startReceiver();
    const fields = { url: down.url, types: ["artifact.registered"] };
    const { secret } = await on.ask<Created>("/webhooks/put", fields);
    await down[Symbol.asyncDispose]();
    for (const part of PARTS) {
      const working = Promise.all([on.writeEvents(), on.ask("/webhooks/deliver")]);
      await on.kill(part);
      await working;
      await on.pass(DOWN_SECONDS / PARTS.length);
      await on.ask("/webhooks/deliver");
    }
    const events = await on.events();
    assert.ok(events.length >= PARTS.length * EVENTS_AT_ONCE);
    const waiting = await on.deliveries();
    assert.deepEqual(waiting.map(({ message_id }) => message_id), events);
    assert.deepEqual(down.received, []);
    for (const { is_delivered, is_parked } of waiting) {
      assert.deepEqual([is_delivered, is_parked], [false, false]);
    }
    assert.ok(waiting[0]!.attempts > 1, "it was tried meanwhile");

    const bad = events[1]!;
    await using receiver = startReceiver(
      ({ headers }) => new Response(null, { status: headers["webhook-id"] === bad ? 500 : 204 }),
      portOf(down.url),
    );
    await on.pass(DOWN_SECONDS);
    const delivering = on.ask("/webhooks/deliver");
    await until(() => receiver.received.length > 0);
    await on.kill(FUNCTION);
    await delivering;
    await until(async () => {
      await on.pass(DOWN_SECONDS);
      await on.ask("/webhooks/deliver");
      return (await on.deliveries()).every(({ message_id, is_delivered }) =>
        is_delivered || message_id === bad
      );
    });
    assert.deepEqual(arrived(secret, receiver.received), new Set(events));
    const [left] = (await on.deliveries()).filter(({ is_delivered }) => !is_delivered);
    assert.deepEqual([left!.message_id, left!.last_status], [bad, 500]);

    receiver.respond = () => new Response(null, { status: 204 });
    await until(async () => {
      await on.pass(DOWN_SECONDS);
      await on.ask("/webhooks/deliver");
      return (await on.deliveries()).every(({ is_delivered }) => is_delivered);
    });
  } finally {
    target.service.kill("SIGTERM");
    await target.service.exit();
  }
});

function portOf(url: string): number {
  return Number(new URL(url).port);
}
