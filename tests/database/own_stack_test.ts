import assert from "node:assert/strict";
import { withStackDatabase } from "./connection.ts";
import { withOwnStack } from "./own_stack.ts";

Deno.test("a test's own stack → the PostgreSQL of the run's stack, whichever --postgres chose", async () => {
  const [run] = await withStackDatabase((sql) => sql`show server_version`);
  await withOwnStack(async ({ sql }) => {
    assert.deepEqual([...await sql`show server_version`], [run]);
  });
});
