/** Kills each part of the service with SIGKILL at each step of an enrolment. */
import assert from "node:assert/strict";
import {
  awaitOk,
  launch,
  openStateDirectory,
  readEnvironment,
  recordedPids,
} from "../../../packages/local/tests/stack/stack_process.ts";
import { type Service, untilThere, whoami, withDatabase } from "./service.ts";
import { type Proof, type Way, WAYS } from "./ways.ts";

/** "function" stands for the function that gets the request. */
const PARTS = ["function", "postgrest", "postgres"] as const;

interface Target {
  /** The process to kill. */
  readonly part: string;
  readonly agent_id: string;
  /** The agent's generation before the request. */
  readonly generation: number;
}

type Strike = (service: Service, target: Target, act: () => Promise<unknown>) => Promise<void>;

const MOMENTS: Readonly<Record<string, Strike>> = {
  "inside its transaction": strikeInside,
  "as it has committed": strikeBehind,
};

/** The killed parts, in order. */
const killed: string[] = [];

/** Kills a part and waits until the service is healthy again. */
async function kill(service: Service, part: string): Promise<void> {
  const { [part]: pid } = await recordedPids(service.stateDir);
  Deno.kill(pid!, "SIGKILL");
  await untilThere(async () => (await recordedPids(service.stateDir))[part] === pid ? null : true);
  killed.push(part);
  for (const name of ["agent-artifacts", "agent-mesh"]) {
    await awaitOk(`${service.url}/functions/v1/${name}/health`);
  }
}

/**
 * Kills a part after the request's transaction has begun. The transaction waits for a lock
 * meanwhile.
 */
async function strikeInside(
  service: Service,
  { part, agent_id }: Target,
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
    // If PostgreSQL itself was killed, the lock is gone with it, and the transaction fails.
    await held.catch(() => {});
  });
}

/** Kills a part as soon as the request's transaction has committed. */
async function strikeBehind(
  service: Service,
  { part, generation, agent_id }: Target,
  act: () => Promise<unknown>,
): Promise<void> {
  await withDatabase(service, async (sql) => {
    const acting = act();
    await untilThere(async () => {
      const [row] = await sql`select from agents.enrolled_agents
        where agent_id = ${agent_id} and generation > ${generation}`;
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

async function generationOf(service: Service, { agent_id }: Proof): Promise<number> {
  const [row] = await withDatabase(service, (sql) =>
    sql<{ generation: number }[]>`
      select generation from agents.enrolled_agents where agent_id = ${agent_id}`);
  return row?.generation ?? 0;
}

async function use(service: Service, by: string, key: string): Promise<void> {
  const status = await untilThere(async () => {
    const answer = await whoami(service, by, key);
    return answer === null || answer.status === 503 ? null : answer.status;
  });
  assert.equal(status, 200);
}

/** The requests, of an agent that enrols twice, during which a part is killed. */
interface Struck {
  readonly part: string;
  readonly strike: Strike;
  readonly enrolments: readonly number[];
  readonly firstUses: readonly number[];
}

async function enrolTwice(service: Service, way: Way, struck: Struck, what: string): Promise<void> {
  const { by } = way;
  const { part, strike } = struck;
  const proof = await way.newProof(service, by);
  const { agent_id } = proof;
  let before: string | null = null;
  // The first enrolment, then the second one while the first agent key is in use.
  for (const times of [1, 2]) {
    await proof.renew();
    if (struck.enrolments.includes(times)) {
      const generation = await generationOf(service, proof);
      await strike(service, { part, agent_id, generation }, () => proof.enrol());
      if (before !== null) await use(service, by, before);
    }
    const key: string = await untilThere(() => proof.enrol());
    if (struck.firstUses.includes(times)) {
      const target = { part, agent_id, generation: 0 };
      await strikeInside(service, target, () => whoami(service, by, key));
    }
    await use(service, by, key);
    await use(service, by, key);
    assert.deepEqual(
      await stateOf(service, proof),
      { live: 1, agents: 1, uses_left: proof.usesLeftAfter(times) },
      `${what}, generation ${times}`,
    );
    if (before !== null) {
      const answer = await whoami(service, by, before);
      assert.equal(answer?.body.error.code, "superseded", what);
    }
    before = key;
  }
}

Deno.test("kill -9 of the function, PostgREST and PostgreSQL at each step of an enrolment, and of the first use, by every way → repeated, it ends with one agent and one live key", async () => {
  await using state = await openStateDirectory();
  const stack = await launch({ stateDir: state.path });
  await stack.ready();
  const { SUPABASE_SECRET_KEY } = await readEnvironment(state.path);
  const service = { stateDir: state.path, url: stack.url, secretKey: SUPABASE_SECRET_KEY! };
  for (const [partIndex, one] of PARTS.entries()) {
    for (const [momentIndex, [moment, strike]] of Object.entries(MOMENTS).entries()) {
      for (const [wayIndex, way] of WAYS.entries()) {
        const part = one === "function" ? way.by : one;
        // Alternate: for each way, a part is killed once at the first enrolment and once at the
        // second, at different moments.
        const enrolments = [1 + (partIndex + momentIndex + wayIndex) % 2];
        // The first use of an agent key is the same for all ways of enrolment. Test it once per
        // function.
        const firstUses = momentIndex === 0 && wayIndex % 3 === partIndex ? [1, 2] : [];
        const what = `${part} ${moment}, ${way.name}`;
        await enrolTwice(service, way, { part, strike, enrolments, firstUses }, what);
      }
    }
  }
  const atEnrolments = PARTS.length * Object.keys(MOMENTS).length * WAYS.length;
  const atFirstUses = PARTS.length * 2 * 2;
  assert.equal(killed.length, atEnrolments + atFirstUses);
  stack.kill("SIGTERM");
  assert.equal(await stack.exit(), 0);
});
