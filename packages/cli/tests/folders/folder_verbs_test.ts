import assert from "node:assert/strict";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { Desk } from "../desk.ts";
import { AgentHost } from "../mcp/agent_host.ts";
import { entry, tar } from "../../../agent-files/tests/folders/raw_tar.ts";
import {
  addSpecial,
  describe,
  makeSample,
  SAMPLE,
} from "../../../agent-files/tests/folders/sample.ts";

Deno.test("put of a folder, get of it → the folder; again → refused with exit code 2; --no-extract, -o - → the tar", async () => {
  await using planner = await Desk.of("planner");
  await using builder = await Desk.of("builder");
  await makeSample(planner.path("drawings"));
  const put = await planner.run([
    "put",
    "drawings/",
    "--key",
    "plans/drawings.tar",
    "--to",
    builder.agent.id,
  ]);
  assert.deepEqual([put.code, put.errors], [0, ""]);
  const get = ["get", "plans/drawings.tar", "--from", planner.agent.id];
  const { code, errors } = await builder.run(get);
  assert.deepEqual([code, errors.slice(0, 10)], [0, "drawings/ "], errors);
  assert.deepEqual(await describe(builder.path("drawings")), SAMPLE);
  for (const more of [[], ["--force"]]) {
    const again = await builder.run([...get, ...more]);
    assert.equal(again.code, 2, again.errors);
    assert.match(again.errors, /drawings already exists/);
  }
  const [kept] = await builder.json<{ path: string }>(...get, "--no-extract");
  assert.equal(kept!.path, "drawings.tar");
  const { output } = await builder.run([...get, "-o", "-"]);
  assert.equal(output.slice(0, 20), "drawings.listing.tsv");
  const [named] = await builder.json<{ path: string; entries: number }>(...get, "-o", "new");
  assert.deepEqual([named!.path, named!.entries], ["new", Object.keys(SAMPLE).length]);
  assert.deepEqual(await describe(builder.path("new")), SAMPLE);
  assert.deepEqual((await readdir(builder.folder)).sort(), ["drawings", "drawings.tar", "new"]);
});

Deno.test("put of a folder with a link and a fifo → sent, both named, exit code 1; with --skip-special → exit code 0", async () => {
  await using planner = await Desk.of("planner");
  await makeSample(planner.path("drawings"));
  await addSpecial(planner.path("drawings"));
  const { code, errors } = await planner.run(["put", "drawings"]);
  assert.equal(code, 1);
  const named = /drawings\/link \(symbolic link\)\n {2}drawings\/pipe \(fifo\)\n$/;
  assert.match(errors, named);
  assert.equal((await planner.run(["get", "drawings.tar", "-o", "sent"])).code, 0);
  assert.deepEqual(await describe(planner.path("sent")), SAMPLE);
  const accepted = await planner.run(["put", "drawings", "--skip-special"]);
  assert.equal(accepted.code, 0);
  assert.match(accepted.errors, named);
});

Deno.test("get of a stranger's tar → the tar; with --extract → a folder, or exit code 7 and nothing", async () => {
  await using planner = await Desk.of("planner");
  await writeFile(planner.path("good.tar"), tar(entry({ name: "a/b", body: "1" })));
  await writeFile(planner.path("bad.tar"), tar(entry({ name: "ok" }), entry({ name: "../up" })));
  assert.equal((await planner.run(["put", "good.tar", "bad.tar"])).code, 0);
  await mkdir(planner.path("in"));
  assert.equal((await planner.run(["get", "good.tar", "-o", "in/good.tar"])).code, 0);
  assert.equal((await planner.run(["get", "good.tar", "--extract"])).code, 0);
  assert.equal(await readFile(planner.path("good/a/b"), "utf8"), "1");
  const bad = await planner.run(["get", "bad.tar", "--extract", "-o", "in/bad"]);
  assert.equal(bad.code, 7, bad.errors);
  assert.match(bad.errors, /"..\/up" in the archive leads out of the folder/);
  for (const wrong of [["--no-extract"], ["-o", "-"]]) {
    assert.equal((await planner.run(["get", "good.tar", "--extract", ...wrong])).code, 2);
  }
  assert.deepEqual(await readdir(planner.path("in")), ["good.tar"]);
  assert.deepEqual((await readdir(planner.folder)).sort(), ["bad.tar", "good", "good.tar", "in"]);
});

Deno.test("inbox --download of a folder → its tar, as before", async () => {
  await using planner = await Desk.of("planner");
  await using builder = await Desk.of("builder");
  await mkdir(planner.path("drawings"));
  assert.equal((await planner.run(["put", "drawings", "--to", builder.agent.id])).code, 0);
  assert.equal((await builder.run(["inbox", "--download", "received"])).code, 0);
  assert.deepEqual(await readdir(builder.path(`received/${planner.agent.id}`)), ["drawings.tar"]);
});

Deno.test("put_file and get_file of a folder → the folder; where one is → refused; extract: false → the tar", async () => {
  await using host = await AgentHost.of("planner");
  await makeSample(host.path("drawings"));
  await addSpecial(host.path("drawings"));
  const put = await host.client.succeed<{ key: string; left_out: unknown[] }>("put_file", {
    path: "drawings",
  });
  assert.deepEqual([put.key, put.left_out.length], ["drawings.tar", 2]);
  const got = await host.client.succeed<{ path: string; entries: number }>("get_file", {
    key: "drawings.tar",
    path: "received/new",
  });
  assert.deepEqual([got.path, got.entries], ["received/new", Object.keys(SAMPLE).length]);
  assert.deepEqual(await describe(host.path("received/new")), SAMPLE);
  const again = { key: "drawings.tar", path: "received/new", overwrite: true };
  const refused = await host.client.call<{ error: { code: string; message: string } }>(
    "get_file",
    again,
  );
  assert.equal(refused.isError, true);
  assert.match(refused.body.error.message, /^received\/new already exists/);
  await host.client.succeed("get_file", {
    key: "drawings.tar",
    path: "received/tar",
    extract: false,
  });
  assert.equal(
    (await readFile(host.path("received/tar"), "utf8")).slice(0, 16),
    "drawings.listing",
  );
  assert.deepEqual((await readdir(host.path("received"))).sort(), ["new", "tar"]);
});
