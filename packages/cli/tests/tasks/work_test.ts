import assert from "node:assert/strict";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { askUntil } from "../../../../tests/conformance/ask_until.ts";
import { bytesIn, collect, filesOf } from "../../../agent-files/tests/cast.ts";
import { desks, script } from "./cast.ts";

interface Line {
  readonly key: string;
  readonly state: string;
  readonly exit_code: number | null;
  readonly reason: string | null;
}

const ONCE = ["work", "--no-wait"];

Deno.test("agentfiles work --reply → the program gets the file and what was said, its output goes to standard error, its file to the giver", async () => {
  await using all = await desks({ "plans/house.txt": "three rooms" }, { note: "Build it.\nSoon." });
  const { planner, builder, files } = all;
  await script(
    builder,
    "build",
    `tr a-z A-Z < "$AGENT_FILE" > house.md
printf '%s\\n' "$AGENT_NOTE" "$AGENT_FROM" "$AGENT_TASK" "$1" "$AGENT_FILE" "$PWD" > "$OUTSIDE/said"
stat -c %a "$PWD/.." >> "$OUTSIDE/said"
ls -A >> "$OUTSIDE/said"
echo built; echo well built >&2`,
  );
  const { code, output, errors } = await builder.run(
    [...ONCE, "--exec", "./build 'two words'", "--reply", "house.md"],
    { OUTSIDE: builder.folder },
  );
  assert.equal(code, 0, errors);
  assert.equal(output, `done  plans/house.txt  from ${planner.agent.id}\n`);
  assert.match(errors, /^built$/m);
  assert.match(errors, /^well built$/m);

  const [answer, ...others] = await collect(files.inbox());
  const said = (await readFile(builder.path("said"), "utf8")).split("\n");
  const [, , from, task, argument, file, folder, mode, ...listed] = said;
  assert.deepEqual(said.slice(0, 2), ["Build it.", "Soon."]);
  assert.deepEqual([from, task, argument], [planner.agent.id, answer!.reply_to, "two words"]);
  assert.match(file!, /\/file\/house\.txt$/);
  assert.deepEqual([mode, listed], ["700", ["house.md", ""]]);
  for (const path of [file!, folder!]) {
    await assert.rejects(stat(path), { code: "ENOENT" }, "it is removed");
  }
  assert.deepEqual([answer!.key, answer!.mime, others], [
    "replies/plans/house.txt/house.md",
    "text/markdown",
    [],
  ]);
  const { body } = await files.get(answer!.artifact_id);
  assert.equal(new TextDecoder().decode(await bytesIn(body)), "THREE ROOMS");
  assert.deepEqual((await all.tasks()).map(({ state }) => state), ["done"]);
});

for (
  const [what, lines, args, reason] of [
    ["an exit code", "echo one >&2; echo no roof >&2; exit 3", [], "Exit code 3: no roof"],
    ["an exit code and nothing said", "exit 1", [], "Exit code 1."],
    ["a signal", "kill -SEGV $$", [], "Ended by SIGSEGV."],
    ["hostile last words", "printf 'x\\033[2J%0500d\\n\\n' 7 >&2; exit 1", [], null],
    [
      "no file that it was to write",
      "exit 0",
      ["--reply", "a/b"],
      "The program did not write a/b.",
    ],
    ["a link in its place", "ln -s /etc/passwd out", ["--reply", "out"], /is a link or a folder/],
    [
      "a folder on the way that is a link",
      "ln -s /etc out",
      ["--reply", "out/passwd"],
      /is a link or a folder/,
    ],
  ] as const
) {
  Deno.test(`agentfiles work with a program that ends with ${what} → failed, for that reason, and no reply`, async () => {
    await using all = await desks({ plan: "1" });
    await script(all.builder, "build", lines);
    const run = await all.builder.run([...ONCE, "--exec", "./build", ...args, "--json"]);
    assert.equal(run.code, 0, run.errors);
    const line: Line = JSON.parse(run.output);
    assert.equal(line.state, "waiting");
    const [row] = await all.tasks();
    assert.deepEqual([row!.state, row!.attempt, row!.is_ready], ["waiting", 1, false]);
    assert.equal(row!.reason, line.reason);
    if (typeof reason === "string") assert.equal(row!.reason, reason);
    else if (reason !== null) assert.match(row!.reason!, reason);
    else assert.match(row!.reason!, /^Exit code 1: 0{299}7$/);
    assert.deepEqual(await collect(filesOf(all.builder.agent).list()), []);
  });
}

Deno.test("agentfiles work --max-runtime with a program that runs longer → ended with all that it started, and failed", async () => {
  await using all = await desks({ plan: "1" });
  await script(all.builder, "build", `trap '' TERM; sleep 600 & echo $! > "$OUTSIDE/pid"; wait`);
  await script(all.builder, "obedient", `sleep 600 & echo $! > "$OUTSIDE/pid"; wait`);
  const args = [...ONCE, "--max-runtime", "1", "--exec", "./obedient"];
  const { code, errors } = await all.builder.run(args, { OUTSIDE: all.builder.folder });
  assert.equal(code, 0, errors);
  assert.equal((await all.tasks())[0]!.reason, "Ended after 1 seconds.");
  const pid = Number(await readFile(all.builder.path("pid"), "utf8"));
  await askUntil((isRunning) => !isRunning, () => isAlive(pid));
});

/** Whether a process runs. One that ended and was not reaped does not. */
async function isAlive(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => ") X");
  return !/\) [ZX]/.test(status);
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  Deno.test(`agentfiles work, ${signal} while two programs run → they end, the tasks are given back, and nothing is left`, async () => {
    await using all = await desks({ a: "1", b: "2", c: "3" });
    const { builder } = all;
    await script(builder, "build", `echo "$$ $AGENT_FILE" > "$OUTSIDE/$$.pid"; sleep 600`);
    const temporary = builder.path("tmp");
    await Deno.mkdir(temporary);
    const started = builder.command(["work", "--concurrency", "2", "--exec", "./build"], {
      OUTSIDE: builder.folder,
      TMPDIR: temporary,
    });
    const child = new Deno.Command(Deno.execPath(), {
      ...started,
      stdout: "null",
      stderr: "null",
    }).spawn();
    const pids = async () =>
      (await readdir(builder.folder)).filter((name) => name.endsWith(".pid"))
        .map((name) => parseInt(name));
    const [first, second] = await askUntil((found) => found.length === 2, pids);
    child.kill(signal);
    assert.equal((await child.status).code, 130);
    assert.deepEqual([await isAlive(first!), await isAlive(second!)], [false, false]);
    assert.deepEqual(
      (await all.tasks()).map(({ state, attempt, is_ready }) => [state, attempt, is_ready]),
      Array(3).fill(["waiting", 0, true]),
    );
    assert.deepEqual(await readdir(temporary), []);
  });
}

Deno.test("agentfiles work of a file whose name is a path → inside the folder, and a program that reads Makefile where it runs finds none", async () => {
  await using all = await desks({ "a/Makefile": "all:\n\ttouch $(OUTSIDE)/bad" });
  const run = await all.builder.run([...ONCE, "--exec", "make", "--json"], {
    OUTSIDE: all.builder.folder,
  });
  assert.equal(JSON.parse(run.output).state, "waiting", run.errors);
  assert.deepEqual((await readdir(all.builder.folder)).includes("bad"), false);
});

Deno.test("agentfiles work with a program that cannot be started → exit code 1, and the task is given back", async () => {
  await using all = await desks({ plan: "1" });
  await writeFile(all.builder.path("build"), "#!/no/such/interpreter\n", { mode: 0o755 });
  const { code, output, errors } = await all.builder.run([...ONCE, "--exec", "./build"]);
  assert.deepEqual([code, output], [1, ""]);
  assert.match(errors, /build cannot be started/);
  const [row] = await all.tasks();
  assert.deepEqual([row!.state, row!.is_ready], ["waiting", true]);
});

Deno.test("agentfiles work --from, --prefix → only those tasks", async () => {
  await using all = await desks({ "plans/a": "1", "drawings/b": "2" });
  const args = [...ONCE, "--exec", "true", "--prefix", "plans/", "--from", all.planner.agent.id];
  const { output } = await all.builder.run(args);
  assert.match(output, /^done {2}plans\/a {2}from planner-\S+\n$/);
  assert.equal((await all.builder.run([...ONCE, "--exec", "true", "--from", "nobody"])).output, "");
  assert.deepEqual((await all.tasks()).map(({ state }) => state), ["waiting", "done"]);
});

for (
  const [args, says] of [
    [[], /Give the program with --exec/],
    [["--exec", "'x"], /a quote that does not end/],
    [["--exec", "no-such-program"], /no-such-program is not a program/],
    [["--exec", "./notes.txt"], /notes\.txt is not a program/],
    [["--exec", "true", "--reply", "/etc/passwd"], /--reply takes a file in the folder/],
    [["--exec", "true", "--reply", "a/../../b"], /--reply takes a file in the folder/],
    [["--exec", "true", "--concurrency", "0"], /--concurrency takes a number from 1 to 100/],
    [["--exec", "true", "--max-runtime", "1h"], /--max-runtime takes a number/],
    [["--exec", "true", "more"], /Give only options/],
  ] as const
) {
  Deno.test(`agentfiles work ${args.join(" ")} → exit code 2, and no task is taken`, async () => {
    await using all = await desks({ plan: "1" });
    await writeFile(all.builder.path("notes.txt"), "no program");
    const { code, output, errors } = await all.builder.run([...ONCE, ...args]);
    assert.deepEqual([code, output], [2, ""]);
    assert.match(errors, says);
    assert.deepEqual(await all.tasks(), [], "nobody has looked");
  });
}
