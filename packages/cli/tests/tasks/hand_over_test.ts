/** What `agentfiles put` and `share` say to a worker, and what `ls`, `get` and `versions` show. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { collect, filesOf, registeredKeys } from "../../../agent-files/tests/cast.ts";
import { Desk } from "../desk.ts";

Deno.test("agentfiles put --note --reply-to --max-attempts --meta, share --note --idempotency-key → in the grantee's inbox", async () => {
  await using planner = await Desk.of("planner");
  await using builder = await Desk.of("builder");
  await writeFile(planner.path("plan"), "1");
  const to = ["--to", builder.agent.id];
  const [first] = await planner.json<{ grants: { grant_id: string }[] }>("put", "plan", ...to);
  const grant = first!.grants[0]!.grant_id;
  const words = ["--note", "Build it.", "--reply-to", grant, "--max-attempts", "1"];
  const meta = ["--meta", "plan=house", "--meta", "size=a=b"];
  assert.equal((await planner.run(["put", "plan", ...to, ...words, ...meta])).code, 0);
  const share = ["share", "plan", builder.agent.id, "--note", "Please.", "--idempotency-key", "k"];
  for (const _ of ["once", "again"]) assert.equal((await planner.run(share)).code, 0);

  const entries = await collect(filesOf(builder.agent).inbox());
  assert.deepEqual(
    entries.map(({ note, reply_to, metadata }) => [note, reply_to, metadata]).reverse(),
    [
      [null, null, {}],
      ["Build it.", grant, { plan: "house", size: "a=b" }],
      ["Please.", null, { plan: "house", size: "a=b" }],
    ],
  );
  const { output } = await planner.run(["ls", "-l"]);
  assert.match(output, /^plan\t1 B\t\S+\t\S+\t2\tplan=house size=a=b\tart_[0-9a-f]{32}\n$/);
  assert.match((await planner.run(["ls"])).output, /^plan\t1 B\t\S+\t\S+\tart_[0-9a-f]{32}\n$/);
});

Deno.test("agentfiles put --deliver one without a tag, --note for nobody → exit code 5, and nothing is registered", async () => {
  await using planner = await Desk.of("planner");
  await writeFile(planner.path("plan"), "1");
  for (const args of [["--deliver", "one", "--to", "builder"], ["--note", "Build it."]]) {
    assert.equal((await planner.run(["put", "plan", ...args])).code, 5);
  }
  assert.deepEqual(await registeredKeys(planner.agent), []);
});

Deno.test("agentfiles put --keep, versions, get KEY@VERSION → the versions that are left; a file of that very name comes first", async () => {
  await using planner = await Desk.of("planner");
  for (const text of ["one", "two", "three"]) {
    await writeFile(planner.path("plan"), text);
    assert.equal((await planner.run(["put", "plan", "--keep", "1"])).code, 0);
  }
  const listed = await planner.json<{ version: number }>("versions", "plan");
  assert.deepEqual(listed.map(({ version }) => version), [3, 2]);
  assert.match((await planner.run(["versions", "plan"])).output, /^3\t5 B\t.*\n2\t3 B\t.*\n$/);

  assert.equal((await planner.run(["get", "plan@2", "-o", "second"])).code, 0);
  assert.equal(await readFile(planner.path("second"), "utf8"), "two");
  assert.equal((await planner.run(["get", "plan@1"])).code, 4);
  await writeFile(planner.path("plan@2"), "its own");
  assert.equal((await planner.run(["put", "plan@2"])).code, 0);
  assert.equal((await planner.run(["get", "plan@2", "-o", "own"])).code, 0);
  assert.equal(await readFile(planner.path("own"), "utf8"), "its own");

  await using builder = await Desk.of("builder");
  await planner.run(["share", "plan", builder.agent.id]);
  const from = ["--from", planner.agent.id];
  assert.equal((await builder.run(["get", "plan@3", ...from, "-o", "third"])).code, 0);
  assert.equal((await builder.run(["get", "plan@2", ...from])).code, 4);
  const open = await builder.json<{ version: number }>("versions", "plan", ...from);
  assert.deepEqual(open.map(({ version }) => version), [3]);
});
