import assert from "node:assert/strict";
import { withStackDatabase } from "../database/connection.ts";
import { runTask } from "../stack/stack_process.ts";

async function epoch(): Promise<string> {
  return await withStackDatabase(async (sql) => {
    const [row] = await sql<[{ epoch: string }]>`select epoch from agents.epochs`;
    return row.epoch;
  });
}

for (
  const [options, sentence] of [
    [["--revoke"], /^--revoke needs --revoked-list\.$/],
    [["--revoked-list", "/nowhere/revoked"], /^\/nowhere\/revoked cannot be read\.$/],
    [["--log", "/nowhere/log"], /^\/nowhere\/log cannot be read\.$/],
    [["--since", "yesterday"], /^--since takes how long ago/],
  ] as const
) {
  Deno.test(`after_restore ${options.join(" ")} → one sentence, and the epoch goes on`, async () => {
    const before = await epoch();
    const { code, output, errors } = await runTask("operator/after_restore.ts", { args: options });
    assert.deepEqual([code, output], [1, ""]);
    assert.match(errors, sentence);
    assert.equal(await epoch(), before);
  });
}
