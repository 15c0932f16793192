/** The command line with folders and standard streams instead of plain files. */
import assert from "node:assert/strict";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { Desk } from "./desk.ts";

Deno.test("agentfiles put of a folder, and of standard input → a tar with its listing; the text", async () => {
  await using planner = await Desk.of("planner");
  await mkdir(planner.path("drawings/cellar"), { recursive: true });
  await writeFile(planner.path("drawings/cellar/plan with ä.txt"), "deep");
  const [put] = await planner.json<{ key: string; entries: unknown[] }>("put", "drawings");
  assert.equal(put!.key, "drawings.tar");
  assert.equal(put!.entries.length, 3);
  assert.equal((await planner.run(["get", "drawings.tar", "--no-extract", "-o", "d.tar"])).code, 0);
  const list = await new Deno.Command("tar", {
    args: ["tf", planner.path("d.tar"), "--quoting-style=literal"],
  })
    .output();
  assert.deepEqual(new TextDecoder().decode(list.stdout).trim().split("\n"), [
    "drawings.listing.tsv",
    "drawings/",
    "drawings/cellar/",
    "drawings/cellar/plan with ä.txt",
  ]);
  await symlink("drawings", planner.path("link"));
  const [linked] = await planner.json<{ key: string; entries: unknown[] }>("put", "link");
  assert.deepEqual([linked!.key, linked!.entries.length], ["link.tar", 3]);
  assert.equal((await planner.run(["put", "-", "--key", "in"], {}, "typed")).code, 0);
  assert.equal((await planner.run(["get", "in", "-o", "-"])).output, "typed");
});

Deno.test("agentfiles put of standard input that does not end, SIGTERM → it ends, and leaves nothing", async () => {
  await using planner = await Desk.of("planner");
  const temporary = planner.path("temporary");
  await mkdir(temporary);
  const child = planner.start(["put", "-", "--key", "in"], { TMPDIR: temporary });
  while ((await readdir(temporary)).length === 0) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  child.kill("SIGTERM");
  assert.equal((await child.status).code, 130);
  assert.deepEqual(await readdir(temporary), []);
  await child.stdin.close();
});

Deno.test("agentfiles get -o - whose reader goes away → exit code 1: nobody knows whether the bytes were right", async () => {
  await using planner = await Desk.of("planner");
  await writeFile(planner.path("big"), new Uint8Array(1024 ** 2));
  assert.equal((await planner.run(["put", "big"])).code, 0);
  const { args, ...surroundings } = planner.command(["get", "big", "-o", "-"], {});
  const script = '"$@" 2>errors | head -c 1 >/dev/null; echo "${PIPESTATUS[0]}"';
  const { stdout } = await new Deno.Command("bash", {
    args: ["-c", script, "bash", Deno.execPath(), ...args],
    ...surroundings,
  }).output();
  assert.equal(new TextDecoder().decode(stdout), "1\n");
  assert.match(await readFile(planner.path("errors"), "utf8"), /before its last byte/);
});
