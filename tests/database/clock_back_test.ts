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

Deno.test("a standing grant that seems to end in an hour → a commit makes no grant of it", async () => {
  await withProjectDatabase({}, async (sql) => {
    const standing_id = await createStanding(sql);
    await endStanding(sql, standing_id);
    await sql`update artifacts.standing_grants set ended_at = now() + interval '1 hour'`;
    await commitFile(sql, "plan", { agent: OWNER });
    assert.deepEqual(await grantedTo(sql), []);
  });
});
