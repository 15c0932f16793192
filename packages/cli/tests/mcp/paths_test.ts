import assert from "node:assert/strict";
import { mkdir, open, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { OutsideRootError, Root } from "../../mcp/root.ts";
import { save } from "../../downloads/save.ts";
import type { Got } from "../../../agent-files/index.ts";
import { AgentHost } from "./agent_host.ts";

/** A folder `root` beside a folder `outside` with the file `secret`. */
class Folders implements AsyncDisposable {
  constructor(readonly path: string, readonly root: Root) {}

  static async make(): Promise<Folders> {
    const path = await Deno.realPath(await Deno.makeTempDir());
    await mkdir(join(path, "root"));
    await mkdir(join(path, "outside"));
    await writeFile(join(path, "outside/secret"), "secret");
    return new Folders(path, await Root.open(join(path, "root")));
  }

  in(name: string): string {
    return join(this.path, name);
  }

  namesIn(folder: string): string[] {
    return Array.from(Deno.readDirSync(this.in(folder)), ({ name }) => name).sort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}

async function readAll(root: Root, path: string): Promise<string> {
  const file = await root.openFile(path);
  try {
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

Deno.test("a path within, an absolute one, one by a link that stays within → opened", async () => {
  await using folders = await Folders.make();
  await mkdir(folders.in("root/plans"));
  await writeFile(folders.in("root/plans/house"), "house");
  await symlink("plans", folders.in("root/drawings"));
  await symlink("root", folders.in("alias"));
  const paths = [
    "plans/house",
    "./plans/../plans/house",
    "drawings/house",
    folders.in("root/plans/house"),
  ];
  for (const path of paths) assert.equal(await readAll(folders.root, path), "house");
  const aliased = await Root.open(folders.in("alias"));
  assert.equal(await readAll(aliased, folders.in("alias/plans/house")), "house");
  await using target = await aliased.openTarget("drawings/new");
  assert.equal(target.name, "plans/new");
  await writeFile(target.path, "new");
  assert.equal(await readAll(folders.root, "plans/new"), "new");
});

Deno.test("a path that leads out by its text or by a link, to read or to write → refused, and nothing is made", async () => {
  await using folders = await Folders.make();
  const { root } = folders;
  await symlink("../outside", folders.in("root/folder"));
  await symlink("../outside/secret", folders.in("root/file"));
  await mkdir(folders.in("root2"));
  await writeFile(folders.in("root2/secret"), "secret");
  const leadOut = [
    "../outside/secret",
    folders.in("outside/secret"),
    "../root2/secret",
    "folder/secret",
    "file",
  ];
  for (const path of leadOut) await assert.rejects(root.openFile(path), OutsideRootError, path);
  for (const path of ["../outside/new", "folder/new", "folder/new/deep", "..", "."]) {
    await assert.rejects(root.openTarget(path), OutsideRootError, path);
  }
  assert.deepEqual(folders.namesIn("outside"), ["secret"]);
});

Deno.test("a folder, a pipe, nothing → refused at once", async () => {
  await using folders = await Folders.make();
  const { root } = folders;
  await mkdir(folders.in("root/plans"));
  await new Deno.Command("mkfifo", { args: [folders.in("root/pipe")] }).output();
  await assert.rejects(root.openFile("plans"), /plans is not a file/);
  await assert.rejects(root.openFile("pipe"), /pipe is not a file/);
  await assert.rejects(root.openFile("nothing"), { code: "ENOENT" });
  await assert.rejects(Root.open(folders.in("nowhere")), /is not a folder/);
});

Deno.test("a file that was opened by a link which is gone by now → refused by where it lies itself", async () => {
  await using folders = await Folders.make();
  const path = folders.in("root/plan");
  await symlink("../outside/secret", path);
  using opened = await opening(path);
  // When the check runs, the path is a valid file, but the opened file is not.
  await rm(path);
  await writeFile(path, "plan");
  await assert.rejects(folders.root.assertHolds(opened.file, path), OutsideRootError);
  using within = await opening(path);
  await folders.root.assertHolds(within.file, path);
});

/** Runs `work` while `plans` keeps changing between a folder and a link out of the root. */
async function whileSwapped(folders: Folders, work: () => Promise<void>): Promise<void> {
  const [plans, kept, link] = [
    folders.in("root/plans"),
    folders.in("root/kept"),
    folders.in("root/link"),
  ];
  await mkdir(plans);
  await writeFile(join(plans, "secret"), "plan");
  await symlink("../outside", link);
  let isOver = false;
  async function swap(): Promise<void> {
    while (!isOver) {
      await rename(plans, kept);
      await takePlace(link, plans);
      await rename(plans, link);
      await takePlace(kept, plans);
    }
  }
  await Promise.all([work().finally(() => isOver = true), swap()]);
}

/** Renames even if a writer meanwhile creates a folder of that name, with files in it. */
async function takePlace(from: string, to: string): Promise<void> {
  while (!await rename(from, to).then(() => true, () => false)) {
    await rm(to, { recursive: true, force: true }).catch(assertIsInUse);
  }
}

/** The errors of removing a folder to which others write. */
function assertIsInUse(error: unknown): void {
  const { code } = error as { code?: string };
  assert.ok(["ENOENT", "ENOTEMPTY"].includes(code!), `${error}`);
}

function assertIsRefusal(error: unknown): void {
  const { code } = error as { code?: string };
  const isGone = ["ENOENT", "ENOTDIR", "ELOOP"].includes(code!);
  assert.ok(error instanceof OutsideRootError || isGone, `${error}`);
}

Deno.test("a folder that becomes a link out of the root while a file is looked for in it → never what is outside", async () => {
  await using folders = await Folders.make();
  await whileSwapped(folders, async () => {
    for (let attempt = 0; attempt < 3000; attempt++) {
      const found = await readAll(folders.root, "plans/secret").catch((error) => error);
      if (typeof found === "string") assert.equal(found, "plan");
      else assertIsRefusal(found);
    }
  });
});

Deno.test("a folder that becomes a link out of the root while a file is written to it → nothing is outside", async () => {
  await using folders = await Folders.make();
  const { root } = folders;
  await whileSwapped(folders, async () => {
    for (let attempt = 0; attempt < 1000; attempt++) {
      try {
        await using target = await root.openTarget(`plans/${attempt}`);
        await save(download("plan"), target.path, {
          check: (file, name) => root.assertHolds(file, name),
        });
      } catch (error) {
        assertIsRefusal(error);
      }
    }
  });
  assert.deepEqual(folders.namesIn("outside"), ["secret"]);
});

function download(text: string): Got {
  return {
    body: new Blob([text]).stream(),
    artifact: { artifact_id: "art_1", key: "k", mime: "text/plain", size: 4, sha256: "" },
  };
}

Deno.test("get_file and put_file over MCP of paths that lead out → refused, and nothing outside is touched", async () => {
  await using planner = await AgentHost.of("planner");
  const outside = await Deno.makeTempDir();
  try {
    await writeFile(planner.path("plan"), "plan");
    await writeFile(join(outside, "secret"), "secret");
    await symlink(outside, planner.path("folder"));
    await symlink(join(outside, "secret"), planner.path("file"));
    const { client } = planner;
    await client.succeed("put_file", { path: "plan" });
    for (const path of ["file", "folder/secret", join(outside, "secret"), "../x"]) {
      const { isError, body } = await client.call("put_file", { path });
      assert.equal(isError, true);
      assert.match(JSON.stringify(body), /is not in the folder/);
    }
    for (const path of ["folder/new", join(outside, "new"), "../new"]) {
      const { isError, body } = await client.call("get_file", { key: "plan", path });
      assert.equal(isError, true);
      assert.match(JSON.stringify(body), /is not in the folder/);
    }
    // A link at the file's own path is replaced, and its target is unchanged.
    const given = { key: "plan", path: "file", overwrite: true };
    await client.succeed("get_file", given);
    assert.equal(await readFile(planner.path("file"), "utf8"), "plan");
    assert.equal(await readFile(join(outside, "secret"), "utf8"), "secret");
    assert.deepEqual(Array.from(Deno.readDirSync(outside), ({ name }) => name), ["secret"]);
    const { artifacts } = await client.succeed<{ artifacts: { key: string }[] }>("list");
    assert.deepEqual(artifacts.map(({ key }) => key), ["plan"]);
  } finally {
    await Deno.remove(outside, { recursive: true });
  }
});

Deno.test("the file with the agent's key, in the folder → can neither be put nor replaced", async () => {
  await using folders = await Folders.make();
  const settings = folders.in("root/.config");
  const paths = ["agentfiles/login.json", "agent/login.json"];
  for (const path of paths) {
    await mkdir(join(settings, dirname(path)), { recursive: true });
    await writeFile(join(settings, path), "{}");
  }
  const before = Deno.env.get("XDG_CONFIG_HOME");
  Deno.env.set("XDG_CONFIG_HOME", settings);
  try {
    const root = await Root.open(folders.in("root"));
    for (const path of paths.map((path) => join(".config", path))) {
      await assert.rejects(root.openFile(path), OutsideRootError);
      await assert.rejects(root.openTarget(path), OutsideRootError);
    }
  } finally {
    if (before === undefined) Deno.env.delete("XDG_CONFIG_HOME");
    else Deno.env.set("XDG_CONFIG_HOME", before);
  }
});

async function opening(path: string) {
  const file = await open(path);
  return { file, [Symbol.dispose]: () => void file.close() };
}
