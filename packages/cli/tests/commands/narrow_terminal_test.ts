/** What a person sees on a terminal, and on a narrow one with 40 columns. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../../local/project.ts";
import { bytesOf } from "../../../agent-files/tests/cast.ts";
import { Desk } from "../desk.ts";
import { linesIn, Pty } from "./terminal.ts";

/** Runs a command on a terminal until it ends. Returns what the terminal has shown. */
async function onTerminal(desk: Desk, columns: number, args: readonly string[]) {
  const { args: all, cwd, env } = desk.command(args, {});
  await using pty = new Pty(Deno.execPath(), all, { columns, cwd, env });
  const { code, shown } = await pty.ended();
  assert.equal(code, 0, shown);
  return shown;
}

const widest = (lines: readonly string[]) => Math.max(...lines.map((line) => [...line].length));

Deno.test("agentfiles put, get on a terminal of 40 columns → a bar that fits, and is gone at the end", async () => {
  await using planner = await Desk.of("planner");
  const name = "a-file-with-a-name-that-is-longer-than-the-terminal-is-wide.bin";
  await writeFile(planner.path(name), bytesOf(16 * 1024 ** 2));
  for (
    const [args, doing] of [
      [["put", name], "uploading"],
      [["get", name, "-o", "again"], "downloading"],
    ] as const
  ) {
    const shown = await onTerminal(planner, 40, args);
    const bars = linesIn(shown).filter((line) => line.includes("█"));
    assert.ok(bars.length > 0, shown);
    assert.ok(bars.every((line) => line.includes("…")), shown);
    assert.ok(bars.some((line) => line.startsWith(`${doing} a-`)), shown);
    assert.ok(widest(bars) < 40, shown);
    assert.ok(!linesIn(shown).at(-1)!.includes("█"), "the bar is gone");
  }
});

Deno.test("the progress bar on a terminal → rate and remaining time", async () => {
  await using planner = await Desk.of("planner");
  const module = join(PROJECT, "packages/cli/terminal/progress_bar.ts");
  const script = `
    import { ProgressBar } from ${JSON.stringify(module)};
    using bar = new ProgressBar("plan.txt", { json: false });
    for (let bytes = 0; bytes <= 40; bytes++) {
      bar.show({ phase: "upload", bytes: bytes * 2 ** 20, size: 2 ** 40 });
      await new Promise((resolve) => setTimeout(resolve, 50));
    }`;
  await writeFile(planner.path("transfer.ts"), script);
  const args = [
    "run",
    "--allow-all",
    `--config=${join(PROJECT, "packages/cli/deno.json")}`,
    "transfer.ts",
  ];
  const { cwd, env } = planner.command([], {});
  await using pty = new Pty(Deno.execPath(), args, { columns: 100, cwd, env });
  const { code, shown } = await pty.ended();
  assert.equal(code, 0, shown);
  assert.match(
    shown,
    /uploading plan\.txt {2}░+ {3}0% {2}\d+\.\d MiB {2}\d+\.\d MiB\/s {2}\d+:\d\d:\d\d left/,
  );
});

Deno.test("agentfiles inbox on a terminal of 80 columns → one line for each file, which fits", async () => {
  await using planner = await Desk.of("planner");
  await using builder = await Desk.of("builder");
  for (const name of ["one.txt", "two.txt"]) {
    await writeFile(planner.path(name), name);
    await planner.run(["put", name, "--to", builder.agent.id]);
  }
  const shown = linesIn(await onTerminal(builder, 80, ["inbox"]));
  const lines = shown.slice(0, 3);
  assert.match(lines[0]!, /^FROM +KEY +SIZE +GRANTED$/);
  assert.deepEqual(lines.slice(1).map((line) => line.split(/ +/)[1]), ["two.txt", "one.txt"]);
  assert.ok(widest(lines) <= 80, lines.join("\n"));
});

Deno.test("agentfiles ls, --help on a terminal of 40 columns → records; lines that fit", async () => {
  await using planner = await Desk.of("planner");
  for (const name of ["one.txt", "two.txt"]) {
    await writeFile(planner.path(name), name);
    await planner.run(["put", name]);
  }
  const records = linesIn(await onTerminal(planner, 40, ["ls"]));
  assert.deepEqual(records.map((line) => line.split(/ +/, 1)[0]), [
    "KEY",
    "SIZE",
    "COMMITTED",
    "EXPIRES",
    "ARTIFACT",
    "KEY",
    "SIZE",
    "COMMITTED",
    "EXPIRES",
    "ARTIFACT",
  ]);
  assert.equal(records[0], "KEY        one.txt");
  const table = linesIn(await onTerminal(planner, 200, ["ls"]));
  assert.match(table[0]!, /^KEY {6}SIZE +COMMITTED +EXPIRES +ARTIFACT$/);
  assert.equal(table.length, 3);

  const usual = linesIn(await onTerminal(planner, 80, ["ls"]));
  assert.match(usual[0]!, /^KEY {6}SIZE +COMMITTED +EXPIRES$/);
  const minutes = String.raw`\d{4}-\d\d-\d\d \d\d:\d\dZ`;
  assert.match(usual[1]!, new RegExp(`^one\\.txt  7 B   ${minutes}  ${minutes}$`));
  assert.equal(usual.length, 3);

  const help = linesIn(await onTerminal(planner, 40, ["put", "--help"]));
  const [options] = [help.slice(0, help.indexOf("Example:"))];
  assert.ok(options.length > 15);
  assert.ok(widest(options) <= 40, options.join("\n"));
});

Deno.test("agentfiles ls of a file whose name looks like a time → its whole name, and short times beside it", async () => {
  await using planner = await Desk.of("planner");
  const name = "2026-01-31T09:30:00.000Z";
  await writeFile(planner.path("plan"), "1");
  assert.equal((await planner.run(["put", "plan", "--key", name])).code, 0);
  const shown = await onTerminal(planner, 200, ["ls"]);
  assert.match(shown, /2026-01-31T09:30:00\.000Z +1 B? +\d{4}-\d\d-\d\d \d\d:\d\dZ/);
});
