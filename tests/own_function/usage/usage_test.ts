import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { artifactTest, type Registered, upload } from "../../conformance/artifacts.ts";
import { askUntil } from "../../conformance/ask_until.ts";
import { type Agent, assertError, operatorRpc, SUPABASE_URL } from "../../conformance/client.ts";
import { withStackDatabase } from "../../database/connection.ts";
import { commitBy } from "../commits/commits.ts";
import { type OwnFunction, startOwnFunction } from "../own_function.ts";
import { overloaded, startProxy } from "../proxy.ts";

const RECORD_USAGE = "/rest/v1/rpc/agent_api_record_usage";
const UNKNOWN_ARTIFACT = `art_${"0".repeat(32)}`;

interface Usage {
  readonly requests: number;
  readonly refusals: number;
  readonly artifacts: number;
  readonly bytes: number;
}

/** The database's counts of an agent's requests today, and of its refusals by kind. */
async function usageOf(agent: Agent): Promise<{ usage: Usage | null; kinds: object }> {
  return await withStackDatabase(async (sql) => {
    const [usage] = await sql<Usage[]>`
      select requests::integer, refusals::integer, artifacts::integer, bytes::integer
      from agents.usage where agent_id = ${agent.id}`;
    const kinds = await sql`
      select kind, sum(count)::integer as count from agents.refusals where agent_id = ${agent.id} group by kind`;
    return {
      usage: usage === undefined ? null : { ...usage },
      kinds: Object.fromEntries(kinds.map(({ kind, count }) => [kind, count])),
    };
  });
}

function lastUseOf(agent: Agent): Promise<Date | null> {
  return withStackDatabase(async (sql) => {
    const [use] = await sql`
      select last_used_at from agents.key_uses where key_id = ${agent.keyId}`;
    return use?.["last_used_at"] ?? null;
  });
}

function list(own: OwnFunction, as: Agent, of = as) {
  return own.post("/list", { as, body: { agent_id: of.id } });
}

/**
 * Publishes through this function only. The stack's own function would count the requests, and
 * write its counts at another time.
 */
async function publishBy(own: OwnFunction, owner: Agent): Promise<void> {
  const body = { agent_id: owner.id, key: "k", mime: "text/plain", size: 5, ttl_days: 1 };
  const { body: artifact } = await own.post<Registered>("/register", { as: owner, body });
  assert.equal(await upload(artifact.upload_url, "hello"), 200);
  assert.equal((await commitBy(own, { owner, artifact })).status, 200);
}

artifactTest(
  "requests of an agent → nothing is written for them; the end of the process writes them all at once",
  async ({ planner, builder }) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    const began = new Date();
    await publishBy(own, planner);
    assert.equal((await list(own, planner)).status, 200);
    assert.equal((await list(own, planner)).status, 200);
    assertError(await list(own, planner, builder), 403, "forbidden");
    assertError(
      await own.post("/open", { as: planner, body: { artifact_id: UNKNOWN_ARTIFACT } }),
      404,
      "artifact_not_found",
    );
    assertError(
      await own.post("/list", { as: planner, body: { limit: 0 } }),
      422,
      "invalid_request",
    );
    assert.deepEqual(await usageOf(planner), { usage: null, kinds: {} });
    assert.equal(proxy.passed.filter(({ path }) => path === RECORD_USAGE).length, 0);

    await own.process.stop();
    assert.equal(proxy.passed.filter(({ path }) => path === RECORD_USAGE).length, 1);
    // At its end, the process waits for the write for two seconds at most.
    const { usage, kinds } = await askUntil(({ usage }) => usage !== null, () => usageOf(planner));
    assert.deepEqual(
      { requests: usage?.requests, refusals: usage?.refusals, artifacts: usage?.artifacts },
      { requests: 7, refusals: 2, artifacts: 1 },
    );
    assert.deepEqual(kinds, { forbidden: 1, artifact_not_found: 1 });
    assert.ok((await lastUseOf(planner))! >= began);
    assert.equal(await lastUseOf(builder), null);
  },
);

artifactTest(
  "requests while the process runs → written after USAGE_WRITE_SECONDS, by one call; a call that fails is made up for",
  async ({ planner, builder }) => {
    let failures = 1;
    await using proxy = startProxy(
      SUPABASE_URL,
      ({ path }) => path === RECORD_USAGE && failures-- > 0 ? overloaded() : undefined,
    );
    await using own = await startOwnFunction({
      supabaseUrl: proxy.url,
      environment: { USAGE_WRITE_SECONDS: "1" },
    });
    await list(own, planner);
    await list(own, builder);
    const written = await askUntil(
      (usages) => usages.every(({ usage }) => usage?.requests === 1),
      () => Promise.all([usageOf(planner), usageOf(builder)]),
    );
    assert.deepEqual(written.map(({ kinds }) => kinds), [{}, {}]);
    const calls = proxy.passed.filter(({ path }) => path === RECORD_USAGE);
    assert.equal(calls.length, 2);
    assert.equal(JSON.parse(calls[1]!.body).entries.length, 2);
    assert.match(await readFile(own.logFile, "utf8"), /"error":"usage_not_written"/);
  },
);

artifactTest(
  "refusals of a revoked key, of a key that never existed, of too many requests → counted for the key's agent, for no agent, for the caller's agent",
  async ({ planner, builder }) => {
    await using own = await startOwnFunction({
      environment: { RATE_LIMIT_REQUESTS_PER_MINUTE: "2" },
    });
    await operatorRpc("revoke_agent_key", { key_id: planner.keyId });
    const stranger = { ...planner, key: `ak_${crypto.randomUUID().replaceAll("-", "").repeat(2)}` };
    assertError(await list(own, planner), 401, "unauthenticated");
    assertError(await list(own, stranger), 401, "unauthenticated");
    for (const status of [200, 200, 429]) {
      assert.equal((await list(own, builder)).status, status);
    }
    const rowsBefore = await withStackDatabase((sql) => sql`select from agents.usage`);
    await own.process.stop();
    const ended = await usageOf(planner);
    assert.deepEqual([ended.usage?.requests, ended.usage?.refusals], [1, 1]);
    assert.deepEqual(ended.kinds, { unauthenticated: 1 });
    assert.equal(await lastUseOf(planner), null);
    assert.deepEqual((await usageOf(builder)).kinds, { rate_limited: 1 });
    const rowsAfter = await withStackDatabase((sql) => sql`select from agents.usage`);
    assert.ok(rowsAfter.length - rowsBefore.length >= 2);
  },
);

artifactTest(
  "USAGE_WRITE_SECONDS=0 → nothing is ever written",
  async ({ planner }) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({
      supabaseUrl: proxy.url,
      environment: { USAGE_WRITE_SECONDS: "0" },
    });
    assert.equal((await list(own, planner)).status, 200);
    await own.process.stop();
    assert.equal(proxy.passed.filter(({ path }) => path === RECORD_USAGE).length, 0);
    assert.deepEqual(await usageOf(planner), { usage: null, kinds: {} });
  },
);
