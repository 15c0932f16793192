import assert from "node:assert/strict";
import { mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../../local/project.ts";
import { runProgram } from "../../../local/processes/run_program.ts";
import { CONTENT, download, FakeService, inFolder, namesBelow } from "./grants.ts";

/** Calls `run` with an empty folder, and another folder for links to lead to. */
function withElsewhere(run: (folder: string, elsewhere: string) => Promise<void>): Promise<void> {
  return inFolder(async (folder) => {
    const elsewhere = await Deno.makeTempDir();
    try {
      await mkdir(folder);
      await run(folder, elsewhere);
      assert.deepEqual(await namesBelow(elsewhere), [], "nothing where the link leads");
    } finally {
      await Deno.remove(elsewhere, { recursive: true });
    }
  });
}

Deno.test("inbox --download from an agent whose folder is a link → refused, says so, and nothing is made behind it", () =>
  withElsewhere(async (folder, elsewhere) => {
    await symlink(elsewhere, join(folder, "planner"));
    const service = new FakeService();
    for (const key of ["plan.txt", "deep/er/plan.txt"]) {
      await assert.rejects(
        download(folder, { key }, service),
        /No free file name.*planner is a link or a file, but must be a folder\. Move it away/,
      );
    }
    assert.equal(service.asked, 0);
  }));

Deno.test("inbox --download of a key with a link on its way → in the agent's own folder, and nothing is made behind it", () =>
  withElsewhere(async (folder, elsewhere) => {
    await mkdir(join(folder, "planner"));
    await symlink(elsewhere, join(folder, "planner/plans"));
    const { path } = await download(folder, { key: "plans/deep/er/house.txt" });
    assert.equal(path.split("/").slice(0, -1).join("/"), join(folder, "planner"));
    assert.equal(await readFile(path, "utf8"), CONTENT);
  }));

Deno.test("inbox --download with a link to another agent's folder → not followed: nothing is there", () =>
  inFolder(async (folder) => {
    await mkdir(join(folder, "builder"), { recursive: true });
    await symlink("builder", join(folder, "planner"));
    await assert.rejects(download(folder, { key: "new/plan.txt" }), /No free file name/);
    assert.deepEqual(await namesBelow(join(folder, "builder")), []);
  }));

Deno.test("inbox --download of a key whose name is a link → another name, and the link stays", () =>
  withElsewhere(async (folder, elsewhere) => {
    await mkdir(join(folder, "planner"));
    await symlink(join(elsewhere, "new"), join(folder, "planner/plan.txt"));
    const { path } = await download(folder);
    assert.match(path, /plan\.12345678\.txt$/);
    assert.equal(await Deno.readLink(join(folder, "planner/plan.txt")), join(elsewhere, "new"));
  }));

Deno.test("inbox --download into a folder that is named by a link → the file, behind it", () =>
  inFolder(async (folder) => {
    await mkdir(folder);
    const link = await Deno.makeTempDir();
    try {
      await symlink(folder, join(link, "received"));
      const { path } = await download(join(link, "received"));
      assert.equal(path, join(link, "received/planner/plan.txt"));
      assert.deepEqual(await namesBelow(folder), ["planner", "planner/plan.txt"]);
    } finally {
      await Deno.remove(link, { recursive: true });
    }
  }));

Deno.test("inbox --download while the agent's folder becomes a link and a folder again → nothing is made behind the link", () =>
  withElsewhere(async (folder, elsewhere) => {
    const [planner, kept, link] = ["planner", "kept", "link"].map((name) => join(folder, name));
    await mkdir(planner!);
    await symlink(elsewhere, link!);
    let isOver = false;
    async function swap(): Promise<void> {
      while (!isOver) {
        // A download may have created the folder meanwhile; `rm` removes it.
        await rename(planner!, kept!).catch(() => {});
        await rename(link!, planner!).catch(() => {});
        await rename(planner!, link!).catch(() => {});
        await rm(planner!, { recursive: true, force: true }).catch(() => {});
        await rename(kept!, planner!).catch(() => {});
      }
    }
    async function work(): Promise<void> {
      for (let attempt = 0; attempt < 500; attempt++) {
        const key = `${attempt}/deep/plan.txt`;
        await download(folder, { key }).catch(assertIsOfAFolder);
      }
      isOver = true;
    }
    await Promise.all([work().finally(() => isOver = true), swap()]);
  }));

/** Asserts an error that says the path is currently no folder, or is gone. */
function assertIsOfAFolder(error: unknown): void {
  const { message, code } = error as { message: string; code?: string };
  assert.ok(
    ["ENOENT", "ENOTDIR", "ELOOP"].includes(code!) || message.includes("No free file name"),
    message,
  );
}

Deno.test("inbox --download under a Deno that may not look into /proc, with a link in the way → the same", () =>
  withElsewhere(async (folder, elsewhere) => {
    await mkdir(join(folder, "planner"));
    await symlink(elsewhere, join(folder, "planner/plans"));
    const script = `
      import { download } from "${join(PROJECT, "packages/cli/tests/inbox/grants.ts")}";
      const [folder] = Deno.args;
      const direct = await download(folder, { key: "drawings/house.txt" });
      const linked = await download(folder, { key: "plans/deep/house.txt" });
      console.log(JSON.stringify([direct.path, linked.path]));`;
    const path = join(folder, "script.ts");
    await writeFile(path, script);
    const { code, output, errors } = await runProgram(Deno.execPath(), {
      args: [
        "run",
        "--no-check",
        "--allow-env",
        "--allow-read",
        "--allow-write",
        "--allow-sys",
        `--config=${join(PROJECT, "packages/cli/deno.json")}`,
        path,
        folder,
      ],
    });
    assert.equal(code, 0, errors);
    const [direct, linked] = JSON.parse(output);
    assert.equal(direct, join(folder, "planner/drawings/house.txt"));
    assert.match(linked, /\/planner\/art_[0-9a-f]{32}$/);
  }));
