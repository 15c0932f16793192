/** What the command line says about the names of recipients. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { collect, filesOf } from "../../../agent-files/tests/cast.ts";
import { Desk } from "../desk.ts";

Deno.test("agentfiles put --to, share with a name that nobody has had → access, and a line on standard error; --known-only → exit code 5, no access", async () => {
  await using planner = await Desk.of("planner");
  await using builder = await Desk.of("builder");
  await writeFile(planner.path("plan"), "1");
  const name = `nobody-${crypto.randomUUID()}`;
  const said = `Nobody called ${name} has ever been here.\n`;
  const given = async () => (await collect(filesOf(planner.agent).grants())).length;

  const first = await planner.run(["put", "plan", "--to", builder.agent.id, "--known-only"]);
  assert.deepEqual([first.code, await given()], [0, 1], first.errors);
  assert.doesNotMatch(first.errors, /Nobody/);
  for (const args of [["put", "plan", "--to", name], ["share", "plan", name]]) {
    const refused = await planner.run([...args, "--known-only"]);
    assert.equal(refused.code, 5, refused.errors);
    assert.match(refused.errors, /Nobody of this name has ever been here\./);
  }
  assert.equal(await given(), 1);
  for (const args of [["put", "plan", "--to", name], ["share", "plan", name]]) {
    const { code, errors } = await planner.run(args);
    assert.deepEqual([code, errors.endsWith(said)], [0, true], errors);
  }
  assert.equal(await given(), 3);
});

Deno.test("agentfiles recipients → a row for each name, with the ends of its access", async () => {
  await using planner = await Desk.of("planner");
  await using builder = await Desk.of("builder");
  await writeFile(planner.path("plan"), "1");
  const to = ["--to", builder.agent.id, "--to-tag", "tag:nobody-has-it"];
  assert.equal((await planner.run(["put", "plan", ...to])).code, 0);
  const time = "\\d{4}-\\d{2}-\\d{2}T\\S+Z";
  assert.match(
    (await planner.run(["recipients"])).output,
    new RegExp(`^tag:nobody-has-it\t${time}\t\n${builder.agent.id}\t${time}\t\n$`),
  );
  assert.match(
    (await builder.run(["recipients"])).output,
    new RegExp(`^${planner.agent.id}\t\t${time}\n$`),
  );
  const [row] = await builder.json<{ agent_id: string }>("recipients");
  assert.equal(row!.agent_id, planner.agent.id);
});
