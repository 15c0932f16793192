import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { stateFiles } from "../../../local/state/state_files.ts";
import { setVersioning } from "../../../../tests/database/bucket/versions.ts";
import { publish } from "../../../../tests/database/own_artifacts.ts";
import { type OwnStack, withOwnStack } from "../../../../tests/database/own_stack.ts";
import { runTask } from "../../../local/tests/stack/stack_process.ts";
import { codeOf, fsck } from "./fsck.ts";

/** Everything that a removal of bytes would change. */
async function stateOf({ sql, stack }: OwnStack) {
  return {
    objects: await sql`select o::text from storage.objects o order by 1`,
    rows: await sql`
      select artifact_id, agent_id, key, removed_at from artifacts.artifacts order by artifact_id`,
    walks: await sql`select w::text from artifacts.walks w where walk <> 'pending' order by 1`,
    files: (await readdir(join(stateFiles(stack.stateDir).storage, "objects"))).sort(),
  };
}

function remove({ stack }: OwnStack, path: string): Promise<Response> {
  return fetch(`${stack.url}/storage/v1/object/agent-artifacts`, {
    method: "DELETE",
    headers: { apikey: stack.secretKey, "content-type": "application/json" },
    body: JSON.stringify({ prefixes: [path] }),
  });
}

Deno.test("a bucket that keeps versions → /sweep, agent erase and fsck refuse as misconfigured and change nothing; fsck counts the archived versions with bytes, also once versions are off", async () => {
  await withOwnStack(async (own) => {
    const { sql, stack } = own;
    await publish(own, "kept");
    const deleted = await publish(own, "deleted");
    const replaced = await publish(own, "replaced by hand");
    await own.ask("/delete", { artifact_id: deleted });
    await sql`
      update artifacts.artifacts set deleted_at = now() - interval '1 day'
      where artifact_id = ${deleted}`;
    assert.deepEqual(await fsck(own), { code: 0, lines: [], errors: "" });
    const erase = (...args: string[]) =>
      runTask("agentops agent erase", {
        args: ["planner", ...args],
        environment: { SUPABASE_URL: stack.url, SUPABASE_SECRET_KEY: stack.secretKey },
      });

    for (const status of ["ENABLED", "SUSPENDED"]) {
      await setVersioning(sql, status);
      const before = await stateOf(own);
      assert.equal(await codeOf(own, "/sweep", {}), "503 misconfigured");
      const erased = await erase("--confirm", "planner");
      assert.equal(erased.code, 1);
      assert.match(erased.errors, /misconfigured: The bucket agent-artifacts keeps versions/);
      const checked = await fsck(own, "--bytes");
      assert.equal(checked.code, 1);
      assert.deepEqual(checked.lines, []);
      assert.match(checked.errors, /misconfigured: The bucket agent-artifacts keeps versions/);
      assert.deepEqual(await stateOf(own), before);
    }

    const { files } = await stateOf(own);
    assert.equal((await remove(own, `sealed/${replaced}/1`)).status, 200);
    assert.deepEqual((await stateOf(own)).files, files, "Storage keeps the bytes");
    const line = "archived versions: 1, with 16 bytes that were deleted or replaced";
    assert.deepEqual((await fsck(own)).lines, [line]);

    await setVersioning(sql, "DISABLED");
    assert.deepEqual(await fsck(own), {
      code: 1,
      lines: [line, `artifact without bytes: ${replaced} sealed/${replaced}/1`],
      errors: "",
    });
    assert.equal(await codeOf(own, "/sweep", {}), "200");
    assert.equal((await erase("--confirm", "planner")).code, 0);
  });
});
