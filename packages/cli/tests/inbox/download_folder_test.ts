import assert from "node:assert/strict";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { save } from "../../downloads/save.ts";
import { agentFolderName, safeSegments } from "../../downloads/safe_path.ts";
import { ARTIFACT_ID, CONTENT, download, FakeService, inFolder, namesBelow } from "./grants.ts";

for (
  const [key, agent] of [
    ["../../escaped", undefined],
    ["/etc/escaped", undefined],
    ["a/../../../escaped", undefined],
    ["..\\..\\escaped", undefined],
    ["C:\\escaped", undefined],
    ["con.txt", undefined],
    ["plan\u0000.txt", undefined],
    ["", undefined],
    ["x".repeat(600), undefined],
    ["escaped", "../.."],
    ["escaped", "/"],
  ] as const
) {
  Deno.test(`inbox --download of ${JSON.stringify(key.slice(0, 30))} from ${agent ?? "planner"} → a file within the folder`, () =>
    inFolder(async (folder) => {
      const { path } = await download(folder, { key, ...(agent && { from_agent: agent }) });
      assert.ok(path.startsWith(`${folder}/`));
      assert.equal(await readFile(path, "utf8"), CONTENT);
    }));
}

Deno.test("inbox --download of a key below another key's file → another name, and both are there", () =>
  inFolder(async (folder) => {
    await mkdir(join(folder, "planner"), { recursive: true });
    await writeFile(join(folder, "planner/plan"), "mine");
    const { path } = await download(folder, { key: "plan/house.txt" });
    assert.equal(await readFile(path, "utf8"), CONTENT);
    assert.equal(await readFile(join(folder, "planner/plan"), "utf8"), "mine");
  }));

for (const isTakenBy of ["files", "folders"]) {
  Deno.test(`inbox --download where ${isTakenBy} have every name that can be known → under a random one; again → it is already there`, () =>
    inFolder(async (folder) => {
      const names = ["plan.txt", "plan.12345678.txt", ARTIFACT_ID];
      for (const name of names) {
        const path = join(folder, "planner", name);
        await mkdir(isTakenBy === "files" ? join(folder, "planner") : path, { recursive: true });
        if (isTakenBy === "files") await writeFile(path, "another");
      }
      const service = new FakeService();
      const { path, isNew } = await download(folder, {}, service);
      assert.equal(isNew, true);
      assert.match(path, new RegExp(`^${folder}/planner/${ARTIFACT_ID}\\.[0-9a-f]{16}$`));
      assert.equal(await readFile(path, "utf8"), CONTENT);
      assert.deepEqual(await download(folder, {}, service), { path, isNew: false });
      assert.equal(service.asked, 1);
      assert.equal((await namesBelow(join(folder, "planner"))).length, names.length + 1);
      if (isTakenBy === "files") {
        for (const name of names) {
          assert.equal(await readFile(join(folder, "planner", name), "utf8"), "another");
        }
      }
    }));
}

Deno.test("inbox --download of more than there is room for → refused, and nothing is asked for", () =>
  inFolder(async (folder) => {
    const service = new FakeService();
    await assert.rejects(
      download(folder, { size: 2 ** 52 }, service),
      /does not have .* of free space/,
    );
    assert.equal(service.asked, 0);
    assert.deepEqual(await namesBelow(folder), ["planner"]);
  }));

Deno.test("inbox --download where no file can be made → refused, and nothing is asked for", () =>
  inFolder(async (folder) => {
    const service = new FakeService();
    await mkdir(folder);
    await writeFile(join(folder, "planner"), "mine");
    await assert.rejects(
      download(folder, {}, service),
      /No free file name.*planner is a link or a file/,
    );
    assert.equal(service.asked, 0);
    assert.equal(await readFile(join(folder, "planner"), "utf8"), "mine");
  }));

for (
  const artifact_id of ["x/../../../../escape5", "..", "art_1", "", `${ARTIFACT_ID}/../../../x`]
) {
  Deno.test(`inbox --download of artifact ${JSON.stringify(artifact_id)} → unexpected_answer, and nothing is made`, () =>
    inFolder(async (folder) => {
      await mkdir(folder);
      const service = new FakeService();
      await assert.rejects(download(folder, { artifact_id }, service), {
        code: "unexpected_answer",
        retryable: false,
      });
      assert.equal(service.asked, 0);
      assert.deepEqual(await namesBelow(folder), []);
    }));
}

Deno.test("save() of an artifact whose id leads out → its temporary file is beside the target", () =>
  inFolder(async (folder) => {
    await mkdir(join(folder, "x"), { recursive: true });
    let temporary = "";
    await save(
      {
        body: new Blob([CONTENT]).stream(),
        artifact: { artifact_id: "x/../../../../escape5" },
      },
      join(folder, "plan.txt"),
      {
        async check(_, path) {
          temporary = path;
          await stat(path);
        },
      },
    );
    assert.match(temporary, new RegExp(`^${folder}/[^/]+\\.part$`));
    assert.deepEqual(await namesBelow(folder), ["plan.txt", "x"]);
  }));

Deno.test("inbox --download from agents whose identifiers look alike as names → a folder for each", () =>
  inFolder(async (folder) => {
    const agents = ["team:x", "team_x", "team.", "team_", "con", "team%3Ax"];
    for (const from_agent of agents) {
      const { isNew } = await download(folder, { from_agent });
      assert.equal(isNew, true, from_agent);
    }
    const { path } = await download(folder, { from_agent: "team:x" });
    assert.equal(path, join(folder, "team%3Ax", "plan.txt"));
    assert.equal((await namesBelow(folder)).length, 2 * agents.length);
  }));

for (
  const [agentId, name] of [
    ["planner", "planner"],
    ["Team.x@host-1_2", "Team.x@host-1_2"],
    ["team:x", "team%3Ax"],
    ["team.", "team%2E"],
    ["a..", "a.%2E"],
    ["con", "%63on"],
    ["Nul.txt", "%4Eul.txt"],
    ["..", ".%2E"],
    ["../..", "..%2F.%2E"],
    ["", "%"],
    ["grün", "gr%C3%BCn"],
  ] as const
) {
  Deno.test(`agentFolderName("${agentId}") → "${name}"`, () => {
    assert.equal(agentFolderName(agentId), name);
  });
}

Deno.test("agentFolderName() of any two agents → two names, of at most 255 characters", () => {
  const first = fc.constantFrom(..."aB9");
  const rest = fc.array(fc.constantFrom(..."aB9._:@-"), { maxLength: 127 });
  const identifier = fc.tuple(first, rest).map(([head, tail]) => head + tail.join(""));
  fc.assert(fc.property(identifier, identifier, (one, other) => {
    assert.equal(agentFolderName(one) === agentFolderName(other), one === other);
    assert.ok(agentFolderName(one).length <= 255);
    assert.match(agentFolderName(one), /^[^/\\:]*[^/\\:.]$/);
  }));
  const [long, longer] = [`a${":".repeat(126)}`, `a${":".repeat(127)}`];
  assert.notEqual(agentFolderName(long), agentFolderName(longer));
  assert.equal(agentFolderName(longer).length, 245);
});

for (
  const [key, segments] of [
    ["plans/house.txt", ["plans", "house.txt"]],
    ["..", ["__"]],
    ["a//b", ["a", "_", "b"]],
    ["NUL", ["_NUL"]],
    ["com1.log", ["_com1.log"]],
    ["trailing. ", ["trailing__"]],
    ["grün 日本.txt", ["grün 日本.txt"]],
  ] as const
) {
  Deno.test(`safeSegments("${key}") → ${JSON.stringify(segments)}`, () => {
    assert.deepEqual(safeSegments(key), segments);
  });
}
