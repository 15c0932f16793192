import assert from "node:assert/strict";
import { chmod, readdir, readFile, realpath, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openPostgresHome, removePostgresHome } from "../../../postgres/home.ts";
import { stateFiles } from "../../../state/state_files.ts";
import {
  awaitOk,
  copyStateDirectory,
  launch,
  openStateDirectory,
  recordedPids,
  runTask,
  snapshot,
} from "../stack_process.ts";

/** A state directory that names a PostgreSQL home outside, which the first start creates. */
async function openOutside() {
  const state = await openStateDirectory();
  const parent = await openStateDirectory();
  const home = join(parent.path, "home");
  await writeFile(stateFiles(state.path).postgresHome, home);
  return {
    path: await realpath(state.path),
    home,
    async open() {
      assert.equal(await openPostgresHome(state.path, null), home);
      await writeFile(join(home, "data"), "kept");
    },
    owner: () => readFile(join(home, "state_directory"), "utf8"),
    async [Symbol.asyncDispose]() {
      await state[Symbol.asyncDispose]();
      await parent[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a home outside → made, opened again, and removed with its state directory", async () => {
  await using state = await openOutside();
  for (let time = 1; time <= 2; time++) {
    await state.open();
    assert.equal(await state.owner(), state.path);
  }
  assert.equal(await removePostgresHome(state.path), null);
  await assert.rejects(readdir(state.home), { code: "ENOENT" });
});

Deno.test("a copied state directory with a home outside → that home is neither opened nor removed", async () => {
  await using state = await openOutside();
  await state.open();
  await using copy = await copyStateDirectory(state.path);
  const before = await snapshot(state.home);
  await assert.rejects(openPostgresHome(copy.path, null), {
    name: "CommandError",
    message:
      `${copy.path} is a copy whose database lies elsewhere (${state.home}) and belongs to ${state.path}: run \`deno task reset\` on this copy, which leaves that database alone, then start again.`,
  });
  assert.deepEqual(await snapshot(state.home), before);
  assert.equal(await removePostgresHome(copy.path), state.path);
  assert.deepEqual(await snapshot(state.home), before);
  assert.deepEqual(await readdir(copy.path), [], "the reference is gone");
  assert.equal(await openPostgresHome(copy.path, null), join(copy.path, "postgres"));
  assert.equal(await openPostgresHome(state.path, null), state.home);
});

Deno.test("a moved state directory with a home outside → keeps it, even with a new directory in the old place", async () => {
  await using state = await openOutside();
  await state.open();
  await using other = await openStateDirectory();
  const moved = join(await realpath(other.path), "moved");
  await rename(state.path, moved);
  assert.equal(await openPostgresHome(moved, null), state.home);
  assert.equal(await state.owner(), moved);

  const movedAgain = join(await realpath(other.path), "again");
  await rename(moved, movedAgain);
  await Deno.mkdir(moved);
  assert.equal(await openPostgresHome(movedAgain, null), state.home);
  assert.equal(await readFile(join(state.home, "data"), "utf8"), "kept");
});

Deno.test("a moved state directory, removed before any start → its home outside goes too", async () => {
  await using state = await openOutside();
  await state.open();
  await using other = await openStateDirectory();
  const moved = join(await realpath(other.path), "moved");
  await rename(state.path, moved);
  assert.equal(await removePostgresHome(moved), null);
  await assert.rejects(readdir(state.home), { code: "ENOENT" });
});

const isRoot = Deno.uid() === 0;
if (!isRoot) console.log("Left out: a database outside of STATE_DIR, which only root's stack has.");

Deno.test({
  name: "start and reset of a copy, as root, PostgreSQL being outside → the original runs on",
  ignore: !isRoot,
  async fn() {
    await using state = await openStateDirectory();
    await chmod(state.path, 0o700);
    const service = await launch({ stateDir: state.path });
    await service.ready();
    const home = await readFile(stateFiles(state.path).postgresHome, "utf8");
    const pids = await recordedPids(state.path);
    await using copy = await copyStateDirectory(state.path);

    const second = await launch({ stateDir: copy.path });
    assert.equal(await second.exit(), 1);
    assert.ok(
      (await second.errors).startsWith(`${copy.path} is a copy whose database lies elsewhere`),
      await second.errors,
    );
    const { code, output } = await runTask("packages/local/stack/reset.ts", {
      environment: { STATE_DIR: copy.path },
    });
    assert.equal(code, 0);
    assert.equal(
      output,
      `Removed the objects, keys and logs of ${copy.path}; the database belongs to ${state.path} and stays.`,
    );
    await awaitOk(`${service.url}/functions/v1/agent-artifacts/health`);
    assert.deepEqual(await recordedPids(state.path), pids);

    service.kill("SIGTERM");
    await service.exit();
    await runTask("packages/local/stack/reset.ts", { environment: { STATE_DIR: state.path } });
    await assert.rejects(readdir(home), { code: "ENOENT" });
  },
});
