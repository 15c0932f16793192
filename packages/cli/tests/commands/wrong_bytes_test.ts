import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stateFiles } from "../../../local/state/state_files.ts";
import { withStackDatabase } from "../../../../tests/database/connection.ts";
import { Desk } from "../desk.ts";

Deno.test("agentfiles get, get --force, inbox --download of a file whose bytes Storage has changed → exit code 7, and no file; the one that is there stays", async () => {
  await using planner = await Desk.of("planner");
  await using builder = await Desk.of("builder");
  await writeFile(planner.path("plan.txt"), "right");
  await planner.run(["put", "plan.txt", "--to", builder.agent.id]);
  await writeFile(await storedFileOf(planner), "wrong");

  const get = ["get", "plan.txt", "--retry-seconds", "0"];
  await writeFile(planner.path("mine.txt"), "mine");
  for (const more of [["-o", "new.txt"], ["-o", "mine.txt", "--force"]]) {
    const { code, errors } = await planner.run([...get, ...more]);
    assert.equal(code, 7, errors);
  }
  assert.deepEqual((await readdir(planner.folder)).toSorted(), ["mine.txt", "plan.txt"]);
  assert.equal(await readFile(planner.path("mine.txt"), "utf8"), "mine");

  const inbox = ["inbox", "--download", "received", "--retry-seconds", "0"];
  const { code, errors } = await builder.run(inbox);
  assert.equal(code, 7, errors);
  assert.deepEqual(await readdir(join(builder.path("received"), planner.agent.id)), []);
});

/** The file in which the local Storage keeps the bytes of the only file that the agent has put. */
async function storedFileOf(desk: Desk): Promise<string> {
  const [listed] = await desk.json<{ artifact_id: string }>("ls");
  const [row] = await withStackDatabase((sql) =>
    sql`select version from storage.objects where name = ${`sealed/${listed!.artifact_id}/1`}`
  );
  return join(stateFiles(Deno.env.get("STATE_DIR")!).storage, "objects", row!["version"]);
}
