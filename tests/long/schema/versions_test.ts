/** What a hundred thousand versions of one name cost those who list or open files. */
import assert from "node:assert/strict";
import type postgres from "postgres";
import { sha256 } from "../../bench/fill/cast.ts";
import { fillInChunks } from "../../bench/fill/chunks.ts";
import { urlOf, withProjectDatabase } from "../../database/connection.ts";
import { openExplainer, PLAN_KINDS } from "../../database/plans/explain.ts";
import { call, type PlannedCall } from "../../database/plans/planned_call.ts";

/** More than a page of /versions looks at, however many of them have ended. */
const FEW = 2_000;
const MANY = 100_000;
const MAX_RATIO = 1.15;
const KEY = "log.txt";
const PAGE = { key: KEY, max_entries: 100 };

function callsOf(owner: object, reader: object): PlannedCall[] {
  const open = { caller: owner, artifact_id: null, window_seconds: 60, key: KEY };
  return [
    call("list_artifacts", {
      caller: owner,
      agent_id: "owner",
      prefix: "",
      max_entries: 100,
      after_key: null,
    }),
    call("list_versions", { caller: owner, agent_id: null, ...PAGE }),
    call("list_versions", { caller: owner, agent_id: null, ...PAGE, before_version: FEW }, {
      circumstances: "a page in the middle",
    }),
    call("list_versions", { caller: reader, agent_id: "owner", ...PAGE }, {
      circumstances: "as an agent that may open none",
    }),
    call("open_artifact", open, { circumstances: "by key" }),
    call("open_artifact", { ...open, version: 5 }, { circumstances: "by key and version" }),
  ];
}

/** What each call reads. */
async function measure(sql: postgres.Sql, calls: readonly PlannedCall[]) {
  const explainer = await openExplainer(await urlOf(sql));
  try {
    const read = [];
    for (const { functionName, circumstances, ...rest } of calls) {
      for (const plans of PLAN_KINDS) {
        const { rows, pages, refusal } = await explainer.explain({ functionName, ...rest }, plans);
        const what = `${functionName} ${circumstances} (${plans})`;
        assert.equal(refusal, null, what);
        read.push({ what, rows, pages: pages! });
      }
    }
    return read;
  } finally {
    await explainer.end();
  }
}

/** All but the last are superseded. */
async function fillVersions(sql: postgres.Sql, count: number): Promise<void> {
  await sql`delete from artifacts.artifacts where agent_id = 'owner'`;
  await fillInChunks(sql, count, (transaction, { from, to }) =>
    transaction`
      insert into artifacts.artifacts (artifact_id, agent_id, key, mime, size_bytes, ttl_days,
        state, sha256, created_at, committed_at, expires_at, commit_attempts, sealed_attempt, version)
      select 'art_' || md5('version ' || i), 'owner', ${KEY}, 'text/plain', 100, 365,
        case when i = ${count}::integer - 1 then 'committed' else 'superseded' end,
        encode(sha256(convert_to(i::text, 'UTF8')), 'hex'), now() - interval '10 days',
        now() - interval '10 days' + i * interval '1 ms',
        now() + interval '100 days' + i * interval '1 ms', 1, 1, i + 1
      from generate_series(${from}::integer, ${to}::integer - 1) i`);
  await sql`vacuum analyze artifacts.artifacts`;
}

async function callerNamed(sql: postgres.Sql, agentId: string): Promise<object> {
  const [row] = await sql`select public.agent_api_create_agent_key(${agentId}) ->> 'key' as key`;
  return { kind: "agent", key_hash: sha256(row!["key"]), request_id: "plans" };
}

Deno.test(`${MANY} versions of one name → lists and /open read at most ${MAX_RATIO} of what they read beside ${FEW}`, async () => {
  await withProjectDatabase({}, async (sql) => {
    const calls = callsOf(await callerNamed(sql, "owner"), await callerNamed(sql, "reader"));
    await fillVersions(sql, FEW);
    const few = await measure(sql, calls);
    await fillVersions(sql, MANY);
    const many = await measure(sql, calls);
    for (const [index, { what, rows, pages }] of many.entries()) {
      console.log(
        `  ${what}: ${few[index]!.rows} → ${rows} rows, ${few[index]!.pages} → ${pages} pages`,
      );
      assert.ok(rows <= MAX_RATIO * few[index]!.rows, `${what} reads ${rows} rows`);
      assert.ok(pages <= MAX_RATIO * few[index]!.pages, `${what} reads ${pages} pages`);
    }
  });
});
