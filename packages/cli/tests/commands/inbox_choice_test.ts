import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { agentFiles } from "../../../agent-files/tests/cast.ts";
import { Desk } from "../desk.ts";
import { namesBelow } from "../inbox/grants.ts";

interface Granted {
  readonly key: string;
  readonly sha256: string;
  readonly from_agent: string;
}

Deno.test("agentfiles inbox --prefix, --latest, --from → what they choose", async () => {
  const [planner, mallory] = [await agentFiles("planner"), await agentFiles("mallory")];
  await using builder = await Desk.of("builder");
  const to = [builder.agent.id];
  for (const text of ["one", "two", "three"]) await planner.files.put("plans/a", text, { to });
  await mallory.files.put("plans/a", "theirs", { to });
  await planner.files.put("notes", "notes", { to });

  const inbox = async (...args: string[]) =>
    (await builder.json<Granted>("inbox", ...args)).map(({ key, from_agent }) =>
      `${key} of ${from_agent === planner.agent.id ? "planner" : "mallory"}`
    );
  const ofPlanner = "plans/a of planner";
  assert.equal((await inbox()).length, 5);
  assert.deepEqual(await inbox("--prefix", "plans/"), [
    "plans/a of mallory",
    ...Array(3).fill(ofPlanner),
  ]);
  assert.deepEqual(await inbox("--latest"), ["notes of planner", "plans/a of mallory", ofPlanner]);
  const chosen = ["--latest", "--prefix", "plans/", "--from", planner.agent.id];
  assert.deepEqual(await inbox(...chosen), [ofPlanner]);
  assert.deepEqual(await inbox("--prefix", "nothing"), []);

  const { code, errors } = await builder.run(["inbox", "--download", "received", ...chosen]);
  assert.deepEqual([code, errors], [0, ""]);
  const names = await namesBelow(builder.path("received"));
  assert.deepEqual(names.filter((name) => name.includes("/plans/")), [
    join(planner.agent.id, "plans/a"),
  ]);
  const path = builder.path(join("received", planner.agent.id, "plans/a"));
  assert.equal(await readFile(path, "utf8"), "three");
});

Deno.test("agentfiles inbox --after the position of an earlier listing → only what is newer, and the next position", async () => {
  const planner = await agentFiles("planner");
  await using builder = await Desk.of("builder");
  const to = [builder.agent.id];
  await planner.files.put("older", "older", { to });
  const first = await builder.run(["inbox"]);
  assert.match(first.output, /\tolder\t/);
  const [, position] = /^To see only newer files: --after (\S+)\n$/.exec(first.errors)!;

  const nothing = await builder.run(["inbox", "--after", position!, "--json"]);
  assert.deepEqual([nothing.code, nothing.output], [0, ""]);
  await planner.files.put("newer", "newer", { to });
  const newer = await builder.run(["inbox", "--after", position!, "--json"]);
  assert.equal(JSON.parse(newer.output).key, "newer");
  const { latest } = JSON.parse(newer.errors);
  assert.equal((await builder.run(["inbox", "--after", latest])).output, "");

  const download = await builder.run(["inbox", "--after", position!, "--download", "received"]);
  assert.equal(download.code, 0);
  const folder = builder.path(join("received", planner.agent.id));
  assert.deepEqual(await namesBelow(folder), ["newer"]);
  assert.match(download.errors, /^To see only newer files: --after /);
});

Deno.test("agentfiles inbox --after something else → exit code 5, and nothing is listed", async () => {
  await using builder = await Desk.of("builder");
  const { code, output, errors } = await builder.run(["inbox", "--after", "yesterday"]);
  assert.deepEqual([code, output], [5, ""]);
  assert.match(errors, /after/);
});
