/** The database's clock goes back to before an end: what has ended stays so. */
import assert from "node:assert/strict";
import type postgres from "postgres";
import { callAsService, withProjectDatabase } from "./connection.ts";
import {
  createStanding,
  endStanding,
  grantedTo,
  OWNER,
  READER,
} from "./standing/standing_database.ts";
import { commitFile, OPERATOR } from "./versions/committing.ts";

/** How the reader's request for an artifact ends. */
async function openAsReader(sql: postgres.Sql, artifact_id: string): Promise<string> {
  const caller = {
    kind: "user",
    agent_id: READER,
    user_id: crypto.randomUUID(),
    expires_at: new Date(Date.now() + 60_000).toISOString(),
    request_id: "test",
  };
  return await callAsService(sql, "open_artifact", { caller, artifact_id, window_seconds: 60 })
    .then(
      () => "opened",
      ({ message }: Error) => message,
    );
}

Deno.test("a grant that seems to be revoked in an hour → nobody opens the artifact", async () => {
  await withProjectDatabase({}, async (sql) => {
    await createStanding(sql);
    const { artifact_id } = await commitFile(sql, "plan", { agent: OWNER });
    assert.equal(await openAsReader(sql, artifact_id), "opened");
    await callAsService(sql, "revoke_grants", {
      caller: OPERATOR,
      artifact_id,
      to_agent: READER,
      grant_id: null,
      to_tag: null,
    });
    const refusal = await openAsReader(sql, artifact_id);
    assert.notEqual(refusal, "opened");
    await sql`update artifacts.grants set revoked_at = now() + interval '1 hour'`;
    assert.equal(await openAsReader(sql, artifact_id), refusal);
  });
});

/** The artifacts of the grants that a list shows. */
async function listed(
  sql: postgres.Sql,
  functionName: string,
  parameters: Record<string, unknown>,
): Promise<readonly string[]> {
  const answer = await callAsService<Record<string, { artifact_id: string }[]>>(
    sql,
    functionName,
    { max_entries: 10, ...parameters },
  );
  return (answer["grants"] ?? answer["found"])!.map(({ artifact_id }) => artifact_id);
}

const INBOX = { caller: OPERATOR, agent_id: READER, after_grant_id: null };

const LISTS = [
  ["list_inbox", { ...INBOX, from_agent: null }],
  ["list_inbox", { ...INBOX, from_agent: OWNER }],
  ["list_grants", {
    caller: OPERATOR,
    agent_id: OWNER,
    artifact_id: null,
    to_agent: null,
    cursor: null,
  }],
  ["list_all_grants", {}],
] as const;

for (const [name, parameters] of LISTS) {
  const of = "from_agent" in parameters && parameters.from_agent !== null ? " of a sender" : "";
  Deno.test(`a grant that seems to be revoked in an hour → ${name}${of} does not show it`, async () => {
    await withProjectDatabase({}, async (sql) => {
      await createStanding(sql);
      const kept = await commitFile(sql, "plan", { agent: OWNER });
      const { artifact_id } = await commitFile(sql, "draft", { agent: OWNER });
      const shown = await listed(sql, name, parameters);
      assert.deepEqual(shown.toSorted(), [kept.artifact_id, artifact_id].toSorted());
      await callAsService(sql, "revoke_grants", {
        caller: OPERATOR,
        artifact_id,
        to_agent: READER,
        grant_id: null,
        to_tag: null,
      });
      assert.deepEqual(await listed(sql, name, parameters), [kept.artifact_id]);
      await sql`update artifacts.grants set revoked_at = now() + interval '1 hour'
        where revoked_at is not null`;
      assert.deepEqual(await listed(sql, name, parameters), [kept.artifact_id]);
    });
  });
}

Deno.test("a standing grant that seems to end in an hour → a commit makes no grant of it", async () => {
  await withProjectDatabase({}, async (sql) => {
    const standing_id = await createStanding(sql);
    await endStanding(sql, standing_id);
    await sql`update artifacts.standing_grants set ended_at = now() + interval '1 hour'`;
    await commitFile(sql, "plan", { agent: OWNER });
    assert.deepEqual(await grantedTo(sql), []);
  });
});

Deno.test("a standing grant that seems to end in an hour → list_standing_grants does not show it", async () => {
  await withProjectDatabase({}, async (sql) => {
    const kept_id = await createStanding(sql);
    const standing_id = await createStanding(sql);
    await endStanding(sql, standing_id);
    await sql`update artifacts.standing_grants set ended_at = now() + interval '1 hour'
      where ended_at is not null`;
    const { standing_grants } = await callAsService<{ standing_grants: { standing_id: string }[] }>(
      sql,
      "list_standing_grants",
      { caller: OPERATOR, agent_id: OWNER, max_entries: 10 },
    );
    assert.deepEqual(standing_grants.map((one) => one.standing_id), [kept_id]);
  });
});
