/** `agentfiles take`, `done`, `fail`: for scripts that hold a task themselves. */
import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { bytesIn, collect, filesOf } from "../../../agent-files/tests/cast.ts";
import { desks } from "./cast.ts";

interface Taken {
  readonly take_id: string;
  readonly grant_id: string;
  readonly path: string;
  readonly note: string;
}

Deno.test("agentfiles take, done --reply --note → the file, then its answer in the giver's inbox", async () => {
  await using all = await desks({ "plans/house.txt": "three rooms" }, { note: "Build it." });
  const { builder, files } = all;
  const [task] = await builder.json<Taken>("take", "--seconds", "3600");
  assert.deepEqual([task!.path, task!.note], ["house.txt", "Build it."]);
  assert.equal(await readFile(builder.path("house.txt"), "utf8"), "three rooms");
  await writeFile(builder.path("house.md"), "A house.");
  const args = ["done", task!.take_id, "--reply", "house.md", "--note", "Built.", "--ttl", "2"];
  assert.equal((await builder.run(args)).output, `${task!.grant_id}  done\n`);
  const [answer, ...others] = await collect(files.inbox());
  assert.deepEqual([answer!.key, answer!.reply_to, answer!.note, answer!.mime, others], [
    "replies/house.md",
    task!.grant_id,
    "Built.",
    "text/markdown",
    [],
  ]);
  const { body } = await files.get(answer!.artifact_id);
  assert.equal(new TextDecoder().decode(await bytesIn(body)), "A house.");
});

Deno.test("agentfiles take of a name that is taken → another name; with -o → refused, and nothing is taken", async () => {
  await using all = await desks({ plan: "given" }, { note: "a\u001bb".replace("\u001b", "\t") });
  const { builder } = all;
  await writeFile(builder.path("plan"), "mine");
  const refused = await builder.run(["take", "-o", "plan"]);
  assert.equal(refused.code, 2);
  assert.match(refused.errors, /already exists/);
  assert.deepEqual(await all.tasks(), [], "nobody has looked");
  const { output } = await builder.run(["take"]);
  const [, take, path] = /^(take_[0-9a-f]{32}) {2}(plan\.[0-9a-f]{8}) {2}5 B {2}from planner-/
    .exec(output)!;
  assert.match(output, /\n {2}a\ufffdb\n$/, "the note cannot control the terminal");
  assert.equal(path, `plan.${take!.slice(5, 13)}`);
  assert.equal(await readFile(builder.path(path!), "utf8"), "given");
  assert.equal(await readFile(builder.path("plan"), "utf8"), "mine");
});

Deno.test("agentfiles take of nothing → exit code 4; --wait → what comes", async () => {
  await using all = await desks({});
  const { builder, files } = all;
  const { code, errors, output } = await builder.run(["take"]);
  assert.deepEqual([code, output], [4, ""]);
  assert.match(errors, /No task waits/);
  const waiting = builder.json<Taken>("take", "--wait");
  await files.put("plan", "1", { to: [builder.agent.id] });
  assert.equal((await waiting)[0]!.path, "plan");
});

Deno.test("agentfiles take whose file cannot be saved → its error, and the task is given back", async () => {
  await using all = await desks({ plan: "1" });
  const { code, errors } = await all.builder.run(["take", "-o", "missing/folder/plan"]);
  assert.equal(code, 1);
  assert.match(errors, /ENOENT/);
  const [row] = await all.tasks();
  assert.deepEqual([row!.state, row!.is_ready], ["waiting", true]);
  assert.deepEqual(await readdir(all.builder.folder), []);
});

Deno.test("agentfiles fail, with a pause, for good → the task rests, is parked", async () => {
  await using all = await desks({ a: "1", b: "2" });
  const { builder } = all;
  const [first] = await builder.json<Taken>("take");
  const args = ["fail", first!.take_id, "--reason", "No roof.", "--retry-after", "3600"];
  const rests = await builder.run(args);
  assert.match(rests.output, new RegExp(`^${first!.grant_id} {2}waiting until \\d{4}-`));
  const [second] = await builder.json<Taken>("take");
  const parked = await builder.run(["fail", second!.take_id, "--reason", "Never.", "--final"]);
  assert.equal(parked.output, `${second!.grant_id}  parked\n`);
  assert.deepEqual(
    (await all.tasks()).map(({ state, reason }) => [state, reason]),
    [["waiting", "No roof."], ["parked", "Never."]],
  );
});

Deno.test("agentfiles done and fail of a take that has ended → exit code 5, and no reply is left", async () => {
  await using all = await desks({ plan: "1" });
  const { builder } = all;
  const [task] = await builder.json<Taken>("take");
  await builder.run(["fail", task!.take_id, "--reason", "No roof.", "--retry-after", "0"]);
  await builder.json<Taken>("take");
  for (const args of [["done", "--reply", "plan"], ["fail", "--reason", "Again."]]) {
    const { code, errors } = await builder.run([args[0]!, task!.take_id, ...args.slice(1)]);
    assert.equal(code, 5, errors);
  }
  assert.deepEqual(await collect(filesOf(builder.agent).list()), []);
  assert.deepEqual((await all.tasks()).map(({ state }) => state), ["taken"]);
});

Deno.test("agentfiles done of a grant that nobody took → done", async () => {
  await using all = await desks({ plan: "1" });
  const [grant] = await all.builder.json<Taken>("inbox");
  assert.equal((await all.builder.run(["done", grant!.grant_id])).code, 0);
  assert.deepEqual((await all.tasks()).map(({ state }) => state), ["done"]);
});

for (
  const [args, says] of [
    [["done"], /Name the take/],
    [["done", "take_x", "--note", "x"], /need --reply/],
    [["fail", "take_x"], /Say why/],
    [["fail", "take_x", "--reason", "x", "--retry-after", "-1"], /argument/],
    [["take", "--seconds", "5"], /from 30 to 3600/],
    [["put", "x", "--deliver", "all"], /each or one/],
    [["put", "x", "--meta", "rooms"], /NAME=TEXT/],
    [["put", "x", "--keep", "0"], /--keep takes a number from 1 to 1000/],
    [["share", "x", "a", "b", "--idempotency-key", "k"], /one agent or tag/],
  ] as const
) {
  Deno.test(`agentfiles ${args.join(" ")} → exit code 2, and one sentence`, async () => {
    await using all = await desks({});
    const { code, output, errors } = await all.builder.run(args);
    assert.deepEqual([code, output], [2, ""]);
    assert.match(errors, says);
  });
}
