/** Each part of the service ended with kill -9 at each step of an enrolment. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { newName } from "../../conformance/enrolment/enrolments.ts";
import { Issuer } from "../../conformance/enrolment/issuer.ts";
import {
  awaitOk,
  launch,
  openStateDirectory,
  readEnvironment,
  recordedPids,
} from "../../stack/stack_process.ts";

const AUDIENCE = "https://agents.example.com";
const PATIENCE_MILLISECONDS = 60_000;

interface Service {
  readonly stateDir: string;
  readonly url: string;
  readonly secretKey: string;
}

interface Answer {
  readonly status: number;
  // deno-lint-ignore no-explicit-any
  readonly body: any;
}

/** What an agent proves itself with, and how its answer reads. */
interface Proof {
  readonly agent_id: string;
  readonly enrolment_id: string;
  /** Before the next enrolment: a job gets a new token for it. */
  renew(): Promise<void>;
  /** Resolves to the agent key; null: no answer that has one. */
  enrol(): Promise<string | null>;
}

async function ask(url: string, init: RequestInit): Promise<Answer | null> {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(20_000) });
    return { status: response.status, body: await response.json() };
  } catch {
    // It was killed with the request in its hands.
    return null;
  }
}

async function operator({ url, secretKey }: Service, path: string, body: object) {
  const answer = await ask(`${url}/functions/v1/agent-artifacts${path}`, {
    method: "POST",
    headers: { apikey: secretKey },
    body: JSON.stringify(body),
  });
  assert.equal(answer?.status, 200, JSON.stringify(answer));
  return answer!.body;
}

function whoami({ url }: Service, key: string): Promise<Answer | null> {
  const headers = { authorization: `Bearer ${key}` };
  return ask(`${url}/functions/v1/agent-artifacts/whoami`, { headers });
}

async function byKey(service: Service): Promise<Proof> {
  const { enrolment_id, enrolment_key } = await operator(service, "/enrolment/put", {
    ...{ kind: "key", uses_left: 2 },
  });
  const agent_name = newName("vm");
  const body = JSON.stringify({ enrolment_key, agent_name });
  return {
    ...{ agent_id: agent_name, enrolment_id },
    renew: () => Promise.resolve(),
    async enrol() {
      const url = `${service.url}/functions/v1/agent-artifacts/enroll`;
      return (await ask(url, { method: "POST", body }))?.body.key ?? null;
    },
  };
}

async function byToken(service: Service): Promise<Proof> {
  const issuer = await Issuer.create(`https://${newName("issuer")}.example.com`);
  const { enrolment_id } = await operator(service, "/enrolment/put", {
    ...{ kind: "trust", issuer: issuer.url, audience: AUDIENCE, jwks: issuer.jwks },
    ...{ conditions: [{ claim: "sub", prefix: "run" }], agent_template: "{sub}" },
    single_use_tokens: true,
  });
  const sub = newName("run");
  let token = "";
  return {
    ...{ agent_id: sub, enrolment_id },
    async renew() {
      token = await issuer.sign({ aud: AUDIENCE, sub });
    },
    async enrol() {
      const answer = await ask(`${service.url}/functions/v1/agent-artifacts/token`, {
        method: "POST",
        body: new URLSearchParams({
          grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
          assertion: token,
        }),
      });
      const key = answer?.body.access_token ?? null;
      if (answer?.body.error === "invalid_grant") throw new Error("the token counts as replayed");
      return key;
    },
  };
}

async function untilThere<Value>(what: () => Promise<Value | null>): Promise<Value> {
  const deadline = Date.now() + PATIENCE_MILLISECONDS;
  while (Date.now() < deadline) {
    const value = await what();
    if (value !== null) return value;
    await sleep(50);
  }
  throw new Error("the service did not come back");
}

/** What was killed, in order. */
const killed: string[] = [];

/** Kills a part and waits until all is well again. */
async function kill(service: Service, part: string): Promise<void> {
  const { [part]: pid } = await recordedPids(service.stateDir);
  Deno.kill(pid!, "SIGKILL");
  await untilThere(async () => (await recordedPids(service.stateDir))[part] === pid ? null : true);
  killed.push(part);
  await awaitOk(`${service.url}/functions/v1/agent-artifacts/health`, PATIENCE_MILLISECONDS);
}

async function withDatabase<Result>(
  { stateDir }: Service,
  run: (sql: postgres.Sql) => Promise<Result>,
): Promise<Result> {
  const { SUPABASE_SUPERUSER_DB_URL } = await readEnvironment(stateDir);
  const sql = postgres(SUPABASE_SUPERUSER_DB_URL!, { max: 2, onnotice: () => {} });
  try {
    return await run(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Kills a part while the request's transaction has begun and cannot go on. */
async function strikeInside(
  service: Service,
  { part, agent_id }: { part: string; agent_id: string },
  act: () => Promise<unknown>,
): Promise<void> {
  await withDatabase(service, async (sql) => {
    const held = sql.begin(async (transaction) => {
      await transaction`select agents.end_access(${agent_id})`;
      const acting = act();
      await untilThere(async () => {
        const [waiting] = await sql`
          select from pg_locks where locktype = 'advisory' and not granted`;
        return waiting === undefined ? null : true;
      });
      await kill(service, part);
      return acting;
    });
    // Where PostgreSQL itself was killed, the lock is gone with it.
    await held.catch(() => {});
  });
}

/** Kills a part as soon as the request's transaction has committed. */
async function strikeBehind(
  service: Service,
  { part, generation, agent_id }: { part: string; generation: number; agent_id: string },
  act: () => Promise<unknown>,
): Promise<void> {
  await withDatabase(service, async (sql) => {
    const acting = act();
    await untilThere(async () => {
      const [row] = await sql`select from agents.enrolled_agents
        where agent_id = ${agent_id} and generation >= ${generation}`;
      return row === undefined ? null : true;
    });
    await kill(service, part);
    await acting;
  }).catch(() => {});
}

interface State {
  readonly live: number;
  readonly agents: number;
  readonly uses_left: number | null;
}

function stateOf(service: Service, { agent_id, enrolment_id }: Proof): Promise<State> {
  return withDatabase(service, async (sql) => {
    const [row] = await sql<State[]>`
      select
        (select count(*)::int from agents.keys
          where agent_id = ${agent_id} and revoked_at is null and expires_at > now()) live,
        (select count(*)::int from agents.enrolled_agents
          where enrolment_id = ${enrolment_id}) agents,
        (select uses_left from agents.enrolments where enrolment_id = ${enrolment_id}) uses_left`;
    return row!;
  });
}

const PARTS = ["agent-artifacts", "postgrest", "postgres"];
const MOMENTS = { "inside its transaction": strikeInside, "as it has committed": strikeBehind };

async function use(service: Service, key: string): Promise<void> {
  const status = await untilThere(async () => {
    const answer = await whoami(service, key);
    return answer === null || answer.status === 503 ? null : answer.status;
  });
  assert.equal(status, 200);
}

Deno.test("kill -9 of the function, PostgREST and PostgreSQL at each step of an enrolment, and of the first use → repeated, it ends with one agent and one live key", async () => {
  await using state = await openStateDirectory();
  const stack = await launch({ stateDir: state.path });
  await stack.ready();
  const { SUPABASE_SECRET_KEY } = await readEnvironment(state.path);
  const service = { stateDir: state.path, url: stack.url, secretKey: SUPABASE_SECRET_KEY! };
  for (const part of PARTS) {
    for (const [moment, strike] of Object.entries(MOMENTS)) {
      for (const newProof of [byKey, byToken]) {
        const proof = await newProof(service);
        const { agent_id } = proof;
        let before: string | null = null;
        // The first generation, and the next over a key that is in use.
        for (const times of [1, 2]) {
          const what = `${part} ${moment}, ${newProof.name}, generation ${times}`;
          await proof.renew();
          const [{ generation } = { generation: 0 }] = await withDatabase(
            service,
            (sql) =>
              sql<{ generation: number }[]>`
              select generation from agents.enrolled_agents where agent_id = ${agent_id}`,
          );
          await strike(
            service,
            { part, agent_id, generation: generation + 1 },
            () => proof.enrol(),
          );
          if (before !== null) await use(service, before);
          const key = await untilThere(() => proof.enrol());
          await strikeInside(service, { part, agent_id }, () => whoami(service, key));
          await use(service, key);
          await use(service, key);
          assert.deepEqual(await stateOf(service, proof), {
            ...{ live: 1, agents: 1 },
            uses_left: newProof === byKey ? 2 - times : null,
          }, what);
          if (before !== null) assert.equal((await whoami(service, before))?.status, 401, what);
          before = key;
        }
      }
    }
  }
  // Before the first use of each key, and at it.
  assert.equal(killed.length, PARTS.length * Object.keys(MOMENTS).length * 2 * 2 * 2);
  stack.kill("SIGTERM");
  assert.equal(await stack.exit(), 0);
});
