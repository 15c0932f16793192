import assert from "node:assert/strict";
import { deleteArtifact, grant, open, publish, sha256 } from "../../conformance/artifacts.ts";
import { runTask } from "../../../packages/local/tests/stack/stack_process.ts";
import { withStackDatabase } from "../connection.ts";
import { castTest, columnsWith } from "./cast.ts";

castTest(
  "agent erase → no column of any table holds the SHA-256 of the agent's files, whether live, superseded, deleted, expired, swept or given; the row with their place stays until the bytes are gone",
  async (agent, builder) => {
    const contents = ["live", "superseded", "deleted", "expired", "swept"]
      .map((state) => `${state} file of ${crypto.randomUUID()}`);
    const [live, superseded, deleted, expired, swept] = contents as [
      string,
      string,
      string,
      string,
      string,
    ];
    await publish(agent, { key: "plan.txt", content: superseded });
    const given = await publish(agent, { key: "plan.txt", content: live });
    await grant(agent, given, { to: builder });
    await open(builder, given);
    await deleteArtifact(agent, await publish(agent, { key: "gone", content: deleted }));
    const over = await publish(agent, { key: "over", content: expired });
    const removed = await publish(agent, { key: "swept", content: swept });
    await withStackDatabase(async (sql) => {
      await sql`
        update artifacts.artifacts
        set committed_at = now() - interval '9 days', expires_at = now() - interval '1 day',
          ended_at = now(),
          removed_at = case when artifact_id = ${removed.artifact_id} then now() end
        where artifact_id in ${sql([over.artifact_id, removed.artifact_id])}`;
    });
    const other = `file of somebody else ${crypto.randomUUID()}`;
    await publish(builder, { content: other });
    for (const content of [...contents, other]) {
      assert.ok((await columnsWith(sha256(content))).includes("artifacts.artifacts.sha256"));
    }

    const erased = await runTask("agentops agent erase", {
      args: [agent.id, "--confirm", agent.id],
    });
    assert.equal(erased.code, 0, erased.errors);
    for (const content of contents) {
      assert.deepEqual(await columnsWith(sha256(content)), [], content);
    }
    assert.ok((await columnsWith(sha256(other))).includes("artifacts.artifacts.sha256"));
    const rows = await withStackDatabase((sql) =>
      sql`select sealed_attempt from artifacts.artifacts where artifact_id = ${given.artifact_id}`
    );
    assert.deepEqual(rows.map((row) => row["sealed_attempt"]), [1]);
  },
);
