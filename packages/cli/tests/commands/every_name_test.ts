/** Invalid names: the command checks every name before it sends anything. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { registeredKeys } from "../../../agent-files/tests/cast.ts";
import { Desk } from "../desk.ts";

const GOOD = ["one.txt", "two.txt", "folder"];

/** A desk with files and folders of these names. */
async function deskWith(...files: readonly string[]): Promise<Desk> {
  const desk = await Desk.of("planner");
  await mkdir(desk.path("folder"));
  for (const name of files) {
    await mkdir(desk.path(`${name}/..`), { recursive: true });
    await writeFile(desk.path(name), name);
  }
  return desk;
}

const LONG = "x".repeat(250);

for (
  const { args, code, says } of [
    {
      args: [...GOOD, "a\\b"],
      code: 5,
      says: /^agentfiles put: key of "a\\\\b": Must not contain control characters, backslashes/,
    },
    {
      args: [...GOOD, LONG, "--key", `${"k/".repeat(400)}`],
      code: 5,
      says: /key of "x+": Must have 1 to 1024 bytes, and has 1050\./,
    },
    {
      args: [...GOOD, "--key", "../"],
      code: 5,
      says: /key of "one\.txt": .* segment\. key of "two/,
    },
    {
      args: [...GOOD, "--to", "builder", "--to", "bad agent!"],
      code: 5,
      says: /to\[1\]: "bad agent!"/,
    },
    {
      args: [...GOOD, "sub/one.txt"],
      code: 5,
      says: /key of "sub\/one\.txt": Is the same as that of "one/,
    },
    { args: [...GOOD, "missing"], code: 1, says: /ENOENT.*missing/ },
    { args: [...GOOD, "-"], code: 2, says: /Standard input needs a --key/ },
    { args: [...GOOD, "-", "--key", "plans/"], code: 2, says: /Standard input needs a --key/ },
  ] as const
) {
  const shown = args.slice(3).map((word) => word.slice(0, 12)).join(" ");
  Deno.test(`agentfiles put of three good names, then ${shown} → exit code ${code}, and nothing is registered`, async () => {
    await using planner = await deskWith("one.txt", "two.txt", "a\\b", LONG, "sub/one.txt");
    const { errors, output, ...ended } = await planner.run(["put", ...args]);
    assert.equal(ended.code, code, errors);
    assert.match(errors, says);
    assert.equal(output, "");
    assert.deepEqual(await registeredKeys(planner.agent), []);
  });
}

Deno.test("agentfiles put of several files, a folder among them → all of them", async () => {
  await using planner = await deskWith("one.txt", "two.txt");
  const { code, errors } = await planner.run(["put", ...GOOD, "--key", "plans/"]);
  assert.equal(code, 0, errors);
  const keys = ["plans/folder.tar", "plans/one.txt", "plans/two.txt"];
  assert.deepEqual(await registeredKeys(planner.agent), keys);
});

Deno.test("agentfiles share with a good agent, then a bad one → exit code 5, and nobody has access", async () => {
  await using planner = await deskWith("one.txt");
  assert.equal((await planner.run(["put", "one.txt"])).code, 0);
  const { code, errors } = await planner.run(["share", "one.txt", "builder", "bad agent!"]);
  assert.equal(code, 5, errors);
  assert.match(errors, /to\[1\]: "bad agent!" cannot be an agent/);
  const ended = await planner.json<{ revoked: number }>("unshare", "one.txt", "builder");
  assert.deepEqual(ended.map(({ revoked }) => revoked), [0]);
});
