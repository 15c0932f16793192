import assert from "node:assert/strict";
import { appendFile, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startChild } from "../../processes/child_process.ts";
import { rotateLogs } from "../../processes/log_rotation.ts";
import { eventually } from "../../../../tests/wireguard/hosts/run_program.ts";
import { openStateDirectory } from "./stack_process.ts";

Deno.test("a log that is too long → its text is in .1, in place of what was there; others stay", async () => {
  await using directory = await openStateDirectory();
  const inside = (name: string) => join(directory.path, name);
  await writeFile(inside("long.log"), "12345678901");
  await writeFile(inside("long.log.1"), "older");
  await writeFile(inside("short.log"), "1234567890");
  await writeFile(inside("notes"), "12345678901");
  await rotateLogs(directory.path, 10);
  const texts = await Promise.all(
    (await readdir(directory.path)).toSorted().map(async (name) => [
      name,
      await readFile(inside(name), "utf8"),
    ]),
  );
  assert.deepEqual(texts, [
    ["long.log", ""],
    ["long.log.1", "12345678901"],
    ["notes", "12345678901"],
    ["short.log", "1234567890"],
  ]);
});

Deno.test("a process whose log is shortened → what it writes next is the log's beginning", async () => {
  await using directory = await openStateDirectory();
  const [log, go] = [join(directory.path, "child.log"), join(directory.path, "go")];
  const script = 'echo one; until [ -e "$0" ]; do sleep 0.05; done; echo two';
  const child = await startChild({
    command: "sh",
    args: ["-c", script, go],
    environment: { PATH: Deno.env.get("PATH")! },
    logFile: log,
  });
  await eventually("the child has written", {
    condition: async () => await readFile(log, "utf8") === "one\n",
  });
  await rotateLogs(directory.path, 3);
  await appendFile(go, "");
  await child.ended;
  assert.equal(await readFile(log, "utf8"), "two\n");
  assert.equal(await readFile(`${log}.1`, "utf8"), "one\n");
});
