/** What a folder has that few people mean to send, and what cannot be sent. */
import assert from "node:assert/strict";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { runProgram } from "../../../local/processes/run_program.ts";
import { createAgent } from "../../../../tests/conformance/client.ts";
import { collect, filesOf } from "../../../agent-files/tests/cast.ts";
import { Desk } from "../desk.ts";
import { AgentHost } from "../mcp/agent_host.ts";
import { python } from "../../../../clients/python/tests/run.ts";

const FILES = [".env", ".git/config", ".git/.lock", "src/.env", "src/main.ts", "src/main.log"];
const HIDDEN = ["drawings/.env", "drawings/.git/", "drawings/src/.env"];

async function makeDrawings(folder: string): Promise<void> {
  for (const file of FILES) {
    const path = join(folder, "drawings", file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, file);
  }
  await writeFile(join(folder, "drawings/.gitignore"), ".*\n*.log\n");
}

/** Files whose names are not UTF-8: the system calls of Node and Deno cannot create them. */
async function addOtherNames(folder: string): Promise<void> {
  const source = String.raw`
import os, sys
top = os.fsencode(sys.argv[1])
for name in [b"caf\xe9.txt", b"\xff", "\ufffd.txt".encode()]:
    open(os.path.join(top, name), "w").close()
open(os.path.join(top, b"\xe9.txt"), "w").close()
os.mkdir(os.path.join(top, b"folder\xe9")); open(os.path.join(top, b"folder\xe9/x"), "w").close()
`;
  const { code, errors } = await runProgram("python3", { args: ["-c", source, folder] });
  assert.equal(code, 0, errors);
}

const NOT_UTF8 = ["caf\ufffd.txt", "folder\ufffd", "\ufffd", "\ufffd.txt"].map((name) => ({
  name: `drawings/${name}`,
  kind: "name that is not UTF-8",
}));

Deno.test("put of a folder with hidden files → sent, and one line names them; --exclude, --gitignore → not sent, and no line", async () => {
  await using planner = await Desk.of("planner");
  await makeDrawings(planner.folder);
  const sent = await planner.run(["put", "drawings"]);
  const named = [HIDDEN[0], HIDDEN[1], "drawings/.gitignore", HIDDEN[2]].join(", ");
  assert.equal(
    sent.errors,
    `Hidden files are sent, too: ${named}. To leave them out: --exclude '.*'\n`,
  );
  assert.equal(sent.code, 0);
  const [shown] = await planner.json<{ hidden: string[] }>("put", "drawings");
  assert.deepEqual(shown!.hidden, named.split(", "));
  for (
    const [args, expected] of [
      [["--exclude", ".*"], ["src/", "src/main.log", "src/main.ts"]],
      [["--exclude", ".*", "--exclude", "*.log"], ["src/", "src/main.ts"]],
      [["--gitignore"], ["src/", "src/main.ts"]],
      [["--gitignore", "--exclude", "src/"], []],
      [["--gitignore", "--exclude", "!main.log"], ["src/", "src/main.log", "src/main.ts"]],
    ] as const
  ) {
    const { code, errors } = await planner.run(["put", "drawings", ...args]);
    assert.deepEqual([code, errors], [0, ""]);
    await rm(planner.path("got"), { recursive: true, force: true });
    await planner.run(["get", "drawings.tar", "-o", "got"]);
    const got = await readdir(planner.path("got"), { recursive: true, withFileTypes: true });
    const names = got.map((entry) =>
      join(entry.parentPath, entry.name).slice(planner.path("got/").length) +
      (entry.isDirectory() ? "/" : "")
    );
    assert.deepEqual(names.sort(), expected, args.join(" "));
  }
});

Deno.test("put of many hidden files → the first five and a number; of a file with --exclude, of a pipe → exit code 2, and nothing is sent", async () => {
  await using planner = await Desk.of("planner");
  await mkdir(planner.path("drawings"));
  for (let number = 1; number <= 8; number++) {
    await writeFile(planner.path(`drawings/.${number}`), "");
  }
  const { errors } = await planner.run(["put", "drawings"]);
  assert.match(errors, /too: drawings\/\.1, .*drawings\/\.5, 3 more\. To leave/);
  await planner.run(["rm", "drawings.tar"]);

  await writeFile(planner.path("plan"), "1");
  const args = ["put", "plan", "--exclude", ".*"];
  const refused = await planner.run(args);
  assert.deepEqual([refused.code, /are for folders/.test(refused.errors)], [2, true]);
  assert.equal((await runProgram("mkfifo", { args: [planner.path("pipe")] })).code, 0);
  for (const path of ["pipe", "/dev/null"]) {
    const { code, errors } = await planner.run(["put", "plan", path, "--to", "builder"]);
    assert.equal(code, 2);
    assert.match(errors, /is a pipe or a device\. .*agentfiles put - --key NAME/);
  }
  assert.deepEqual(await planner.json("ls"), []);
  const files = filesOf(planner.agent);
  await assert.rejects(files.put("x", { path: "/dev/null" }), { code: "source_unreadable" });
  assert.deepEqual(await collect(files.list()), []);
});

Deno.test("a folder with names that are not UTF-8 → the rest is sent, and these are named: by the command line, MCP and Python", async () => {
  await using host = await AgentHost.of("planner");
  await using desk = await Desk.of("planner");
  for (const folder of [host.folder, desk.folder]) {
    await mkdir(join(folder, "drawings"));
    await writeFile(join(folder, "drawings/plan"), "1");
    await addOtherNames(join(folder, "drawings"));
  }
  const { code, errors } = await desk.run(["put", "drawings", "--json"]);
  assert.equal(code, 1, errors);
  assert.match(errors, /drawings\/caf\ufffd\.txt \(name that is not UTF-8\)/);
  const accepted = ["put", "drawings", "--skip-special"];
  type Put = { entries: { name: string }[]; left_out: { name: string; kind: string }[] };
  const [put] = await desk.json<Put>(...accepted);
  const byName = (left: Put["left_out"]) =>
    left.toSorted((one, other) => one.name < other.name ? -1 : 1);
  assert.deepEqual(byName(put!.left_out), NOT_UTF8);
  const expected = ["drawings/", "drawings/plan", "drawings/\ufffd.txt"];
  assert.deepEqual(put!.entries.map(({ name }) => name), expected);
  const [excluded] = await desk.json<Put>("put", "drawings", "--exclude", "*\ufffd*");
  assert.deepEqual(excluded!.left_out, []);

  const byHost = await host.client.succeed<{ left_out: Put["left_out"] }>("put_file", {
    path: "drawings",
  });
  assert.deepEqual(byName(byHost.left_out), NOT_UTF8);
  const answer: Put = await python(
    `
put = planner.put_folder("drawings.tar", ${JSON.stringify(join(desk.folder, "drawings"))})
print(json.dumps({name: put[name] for name in ["entries", "left_out"]}))
`,
    [desk.agent, await createAgent("builder")],
  );
  assert.deepEqual(byName(answer.left_out), NOT_UTF8);
  assert.deepEqual(answer.entries.map(({ name }) => name).sort(), expected.toSorted());
});

Deno.test("put_file, put_folder() of a folder with hidden files → named; exclude, gitignore → not sent", async () => {
  await using host = await AgentHost.of("planner");
  await makeDrawings(host.folder);
  const put = async (options: object) =>
    (await host.client.succeed<{ hidden: string[] }>("put_file", { path: "drawings", ...options }))
      .hidden;
  const all = [...HIDDEN, "drawings/.gitignore"].sort();
  assert.deepEqual((await put({})).toSorted(), all);
  assert.deepEqual(await put({ exclude: [".*"] }), []);
  assert.deepEqual(await put({ gitignore: true }), []);
  await writeFile(host.path("plan"), "1");
  const refused = await host.client.call("put_file", { path: "plan", gitignore: true });
  assert.equal(refused.isError, true);
  const answer = await python(
    `
folder = ${JSON.stringify(host.path("drawings"))}
def hidden(**options):
    return sorted(planner.put_folder("drawings.tar", folder, **options)["hidden"])
refused = []
try:
    hidden(exclude=".*")
except TypeError:
    refused.append("TypeError")
print(json.dumps([hidden(), hidden(exclude=[".*"]), hidden(gitignore=True), refused]))
`,
    [host.agent, await createAgent("builder")],
  );
  assert.deepEqual(answer, [all, [], [], ["TypeError"]]);
});
