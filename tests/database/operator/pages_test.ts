/** Compares all pages of the operator's lists with the tables. */
import assert from "node:assert/strict";
import type postgres from "postgres";
import { fill } from "../../bench/fill/fill.ts";
import { GRANTEE, peerIdOf, READER } from "../../bench/fill/cast.ts";
import { callAsService, withProjectDatabase } from "../connection.ts";

interface Page {
  readonly found: readonly Record<string, unknown>[];
  readonly next: string | null;
}

interface List {
  readonly functionName: string;
  readonly parameters?: Record<string, unknown>;
  /** The identity of a row. */
  readonly identify: (row: Record<string, unknown>) => string;
  /** The identities of all rows that should be listed, in order. */
  readonly expected: (sql: postgres.Sql) => postgres.PendingQuery<{ id: string }[]>;
}

const AROUND = peerIdOf(5);

const LISTS: readonly List[] = [
  {
    functionName: "list_agents",
    parameters: { with_ended: true },
    identify: ({ agent_id }) => String(agent_id),
    expected: (sql) =>
      sql`
        select distinct agent_id::text collate "C" as id from (
          select agent_id from agents.keys union select agent_id from artifacts.totals
          union select to_agent from artifacts.grants union select agent_id from mesh.config_versions
          union select agent_id from agents.agent_tags
        ) named
        where agent_id is not null
        order by 1`,
  },
  {
    functionName: "list_peers",
    identify: ({ agent_id }) => String(agent_id),
    expected: (sql) => sql`select agent_id as id from mesh.peers order by agent_id`,
  },
  {
    functionName: "list_peers",
    parameters: { agent_id: AROUND },
    identify: ({ agent_id }) => String(agent_id),
    expected: (sql) =>
      sql`
        select named.agent_id as id from unnest(mesh.with_neighbours(${AROUND})) named (agent_id)
        order by named.agent_id collate "C"`,
  },
  {
    functionName: "list_mesh_rules",
    identify: positionOf,
    expected: (sql) =>
      sql`
        select concat_ws(' ', from_agent, to_agent, proto, port) as id from mesh.rules
        order by from_agent, to_agent, proto, port`,
  },
  {
    functionName: "list_mesh_rules",
    parameters: { agent_id: AROUND },
    identify: positionOf,
    expected: (sql) =>
      sql`
        select concat_ws(' ', from_agent, to_agent, proto, port) as id from mesh.rules
        where ${AROUND} in (from_agent, to_agent)
        order by from_agent, to_agent, proto, port`,
  },
  {
    functionName: "list_paths",
    identify: pairOf,
    expected: (sql) =>
      sql`
        select low_agent || ' ' || high_agent as id from mesh.pairs order by low_agent, high_agent`,
  },
  {
    functionName: "list_paths",
    parameters: { agent_id: AROUND },
    identify: pairOf,
    expected: (sql) =>
      sql`
        select low_agent || ' ' || high_agent as id from mesh.pairs
        where ${AROUND} in (low_agent, high_agent)
        order by low_agent, high_agent`,
  },
  {
    functionName: "list_usage",
    identify: ({ day, agent_id }) => `${day} ${agent_id}`,
    expected: (sql) =>
      sql`select day || ' ' || agent_id as id from agents.usage order by day, agent_id`,
  },
  {
    functionName: "list_refusals",
    identify: ({ agent_id, kind, count }) => `${agent_id} ${kind} ${count}`,
    expected: (sql) =>
      sql`
        select concat_ws(' ', agent_id, kind, count) as id from agents.refusals
        order by hour, agent_id, kind`,
  },
  {
    functionName: "list_all_grants",
    identify: ({ grant_id }) => String(grant_id),
    expected: (sql) =>
      sql`
        select grant_id as id from artifacts.grants where live_until > now()
        order by live_until, grant_id`,
  },
  {
    functionName: "list_all_grants",
    parameters: { to_agent: READER },
    identify: ({ grant_id }) => String(grant_id),
    expected: (sql) =>
      sql`
        select grant_id as id from artifacts.grants
        where live_until > now() and to_agent = ${READER} order by live_until, grant_id`,
  },
  {
    functionName: "list_all_grants",
    parameters: { from_agent: "owner-0", to_agent: READER },
    identify: ({ grant_id }) => String(grant_id),
    expected: (sql) =>
      sql`
        select grant_id as id from artifacts.grants
        where live_until > now() and from_agent = 'owner-0' and to_agent = ${READER}
        order by live_until, grant_id`,
  },
];

function positionOf({ from_agent, to_agent, proto, port }: Record<string, unknown>): string {
  return [from_agent, to_agent, proto, port].join(" ");
}

/** The pair in a row with two sides. */
function pairOf(sides: Record<string, unknown>): string {
  return Object.values(sides).map((side) => (side as { agent_id: string }).agent_id).join(" ");
}

async function listAll(
  sql: postgres.Sql,
  { functionName, parameters = {} }: Pick<List, "functionName" | "parameters">,
  max_entries: number,
): Promise<Record<string, unknown>[]> {
  const found: Record<string, unknown>[] = [];
  for (let after: string | null = ""; after !== null;) {
    const page: Page = await callAsService<Page>(sql, functionName, {
      ...parameters,
      max_entries,
      after,
    });
    assert.ok(page.found.length <= max_entries);
    found.push(...page.found);
    after = page.next;
  }
  return found;
}

Deno.test("every list for the operator, in pages of 7 and in one → every entry, in order, once", async (t) => {
  await withProjectDatabase({}, async (sql) => {
    await fill(sql, {
      artifacts: 1_000,
      peers: 50,
      hubs: [{ agentId: "hub", peers: 3, rulesPerPeer: 4 }],
    });
    // Equal expiry times give ties in the first sort key of grants.
    await sql`
      update artifacts.grants set expires_at = date_trunc('hour', now()) + interval '2 hours'
      where to_agent = ${READER}`;
    for (const list of LISTS) {
      await t.step(`${list.functionName} ${JSON.stringify(list.parameters ?? {})}`, async () => {
        const expected = (await list.expected(sql)).map(({ id }) => id);
        assert.ok(expected.length >= 5, `${expected.length}`);
        for (const size of [7, 10_000]) {
          assert.deepEqual((await listAll(sql, list, size)).map(list.identify), expected);
        }
      });
    }
  });
});

Deno.test("list_agents after agents ended → those that hold something; with_ended: all", async () => {
  await withProjectDatabase({}, async (sql) => {
    for (const agent_id of ["a-gone", "b-expired", "c-here"]) {
      await callAsService(sql, "create_agent_key", { agent_id });
    }
    await callAsService(sql, "remove_agent", { agent_id: "a-gone" });
    await sql`update agents.keys set expires_at = now() where agent_id = 'b-expired'`;

    const names = async (parameters: Record<string, unknown>) =>
      (await callAsService<Page>(sql, "list_agents", { max_entries: 10, ...parameters })).found
        .map(({ agent_id, live_keys, expired_keys, revoked_keys }) => [
          agent_id,
          live_keys,
          expired_keys,
          revoked_keys,
        ]);
    assert.deepEqual(await names({}), [["c-here", 1, 0, 0]]);
    assert.deepEqual(await names({ with_ended: true }), [
      ["a-gone", 0, 0, 1],
      ["b-expired", 0, 1, 0],
      ["c-here", 1, 0, 0],
    ]);
  });
});

Deno.test("list_agents behind two thousand that ended → empty pages that lead on, then the next agent", async () => {
  await withProjectDatabase({}, async (sql) => {
    await sql`
      insert into agents.keys (key_id, agent_id, key_hash, revoked_at)
      select 'key_' || md5(i::text), 'gone-' || lpad(i::text, 4, '0'), repeat('0', 32) || md5(i::text), now()
      from generate_series(1, 2000) i`;
    await callAsService(sql, "create_agent_key", { agent_id: "here" });
    const list = { functionName: "list_agents" };
    assert.deepEqual((await listAll(sql, list, 10)).map(({ agent_id }) => agent_id), ["here"]);
  });
});

Deno.test("read_agent → keys with what became of them, live grants alone; of nobody: null", async () => {
  await withProjectDatabase({}, async (sql) => {
    await fill(sql, { artifacts: 1_000, peers: 50 });
    const used = new Date().toISOString();
    await callAsService(sql, "create_agent_key", { agent_id: GRANTEE, label: "second" });
    const [key] = await sql`select key_id from agents.keys where label = 'second'`;
    await sql`insert into agents.key_uses (key_id, last_used_at) values (${
      key!["key_id"]
    }, ${used})`;
    await sql`update agents.keys set revoked_at = now() where agent_id = ${GRANTEE} and label is null`;

    const agent = await callAsService<Record<string, unknown>>(sql, "read_agent", {
      agent_id: GRANTEE,
    });
    assert.deepEqual(
      (agent["keys"] as Record<string, unknown>[]).map(({ label, state, last_used_at }) => [
        label,
        state,
        last_used_at,
      ]),
      [["second", "live", used], [null, "revoked", null]],
    );
    assert.equal(agent["last_used_at"], used);
    const { found: [listed] } = await callAsService<Page>(sql, "list_agents", {
      max_entries: 1,
      after: GRANTEE.slice(0, -1),
    });
    assert.deepEqual(
      [listed!["agent_id"], (listed!["keys"] as { key_id: string }[]).map(({ key_id }) => key_id)],
      [GRANTEE, [key!["key_id"]]],
    );
    assert.deepEqual([agent["grants_given"], agent["grants_received"], agent["peer"]], [
      0,
      10,
      null,
    ]);
    assert.deepEqual(agent["blocked_senders"], ["stranger"]);
    await sql`
      insert into artifacts.blocked_senders (agent_id, from_agent) values (${GRANTEE}, 'alpha')`;
    const blocking = await callAsService<Record<string, unknown>>(sql, "read_agent", {
      agent_id: GRANTEE,
    });
    assert.deepEqual(blocking["blocked_senders"], ["alpha", "stranger"]);
    assert.equal(await callAsService(sql, "read_agent", { agent_id: "nobody" }), null);
  });
});
