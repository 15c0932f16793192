/** `agentops` and a schema of another release. */
import assert from "node:assert/strict";
import type postgres from "postgres";
import { operatorRpc, SUPABASE_URL } from "../../../../../tests/conformance/client.ts";
import { withStackDatabase } from "../../../../../tests/database/connection.ts";
import { runTask } from "../../../../local/tests/stack/stack_process.ts";

const NAME = "agent_api_describe_schema";

/** Puts another definition of the function in its place, and takes it back. */
async function withDefinition(
  change: (definition: string) => string,
  test: (sql: postgres.Sql) => Promise<void>,
): Promise<void> {
  await withStackDatabase(async (sql) => {
    const [row] = await sql`select pg_get_functiondef(${`public.${NAME}`}::regproc) as text`;
    const definition: string = row!["text"];
    const changed = change(definition);
    assert.notEqual(changed, definition);
    try {
      await sql.unsafe(changed);
      await test(sql);
    } finally {
      await sql.unsafe(definition);
    }
  });
}

const CHANGES: readonly (readonly [string, (definition: string) => string, RegExp])[] = [
  [
    "an older schema",
    (text) => text.replace("'revision', 1", "'revision', 0"),
    /^The schema at \S+ is older than this program\. Nothing was done\. Deploy this release /,
  ],
  [
    "a newer schema",
    (text) => text.replace("'revision', 1", "'revision', 2"),
    /^The schema at \S+ is newer than this program\. Nothing was done\. Use the agentops of /,
  ],
  [
    "a schema by another text of the same migration",
    (text) =>
      text.replace(
        "agents.recorded_migrations()",
        `'[{"version": "20261121120000", "name": "release", "digest": "other"}]'::json`,
      ),
    /^The schema at \S+ was made by other migrations .* Nothing was done\. Use the agentops of /,
  ],
];

for (const [what, change, sentence] of CHANGES) {
  Deno.test(`agentops with ${what} → a sentence with what to do, exit code 1, and nothing is done`, async () => {
    await withDefinition(change, async () => {
      const agent_id = `unfit-${crypto.randomUUID().slice(0, 8)}`;
      for (const args of ["agent create", "agent tag", "agent erase"]) {
        const { code, output, errors } = await runTask(`agentops ${args}`, { args: [agent_id] });
        assert.deepEqual([code, output], [1, ""], args);
        assert.match(errors, sentence);
        assert.ok(errors.includes(SUPABASE_URL));
      }
      assert.equal((await operatorRpc("read_agent", { agent_id })).body, null);
      // What is about the deployment itself still works.
      assert.notEqual((await runTask("agentops doctor", { args: ["--json"] })).output, "");
    });
  });
}

Deno.test("agentops with a schema that has no describe_schema → it is older; doctor still works", async () => {
  await withStackDatabase(async (sql) => {
    await sql.unsafe(`alter function public.${NAME}() rename to ${NAME}_elsewhere`);
    try {
      const { code, errors } = await runTask("agentops agent create", { args: ["unfit"] });
      assert.equal(code, 1);
      assert.match(errors, /is older than this program\. Nothing was done\./);
    } finally {
      await sql.unsafe(`alter function public.${NAME}_elsewhere() rename to ${NAME}`);
    }
  });
});
