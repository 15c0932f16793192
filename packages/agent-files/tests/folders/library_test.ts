import assert from "node:assert/strict";
import { mkdir, readdir, rename, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AgentError, type AgentFiles } from "../../index.ts";
import { extractTar } from "../../folders/extract.ts";
import { nodeModules } from "../../folders/node.ts";
import { walk } from "../../folders/walk.ts";
import { runProgram } from "../../../local/processes/run_program.ts";
import { agentFiles, collect, registeredKeys } from "../cast.ts";
import { bytesOf, entry, pax, tar } from "./raw_tar.ts";
import { addSpecial, describe, makeSample, SAMPLE, withFolder } from "./sample.ts";

async function* whole(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

Deno.test("putFolder(), getFolder() by another agent → the same files, folders and executable bits, and what was left out", () =>
  withFolder(async (folder) => {
    const [planner, builder] = [await agentFiles("planner"), await agentFiles("builder")];
    await makeSample(join(folder, "drawings"));
    await addSpecial(join(folder, "drawings"));
    const put = await planner.files.putFolder("drawings.tar", join(folder, "drawings"), {
      to: [builder.agent.id],
    });
    assert.deepEqual(put.leftOut, [
      { name: "drawings/link", kind: "symbolic link" },
      { name: "drawings/pipe", kind: "fifo" },
    ]);
    assert.equal(put.entries.length, 1 + Object.keys(SAMPLE).length);
    const target = join(folder, "received");
    const got = await builder.files.getFolder(put.artifact_id, target);
    assert.equal(got.entries, Object.keys(SAMPLE).length);
    assert.equal(got.artifact.sha256, put.sha256);
    assert.deepEqual(await describe(target), SAMPLE);
    assert.equal((await stat(target)).mode & 0o777, 0o777 & ~Deno.umask());
  }));

Deno.test("getFolder() to where something is → target_exists, and nothing changes", () =>
  withFolder(async (folder) => {
    const { files } = await agentFiles("planner");
    await mkdir(join(folder, "plans"));
    await files.putFolder("plans.tar", join(folder, "plans"));
    await mkdir(join(folder, "empty"));
    await writeFile(join(folder, "file"), "kept");
    await symlink("nowhere", join(folder, "link"));
    const before = await readdir(folder);
    for (const name of ["empty", "file", "link"]) {
      await assert.rejects(
        files.getFolder("plans.tar", join(folder, name)),
        (error) => error instanceof AgentError && error.code === "target_exists",
      );
    }
    assert.deepEqual(await readdir(folder), before);
  }));

Deno.test("getFolder() of bytes that are not the committed ones → download_mismatch, and no folder", () =>
  withFolder(async (folder) => {
    const changed: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (!String(input).includes("/object/sign/")) return response;
      const bytes = new Uint8Array(await response.arrayBuffer());
      // The change is inside the only file's content, so the archive remains well-formed.
      const at = bytes.findIndex((_, index) => isAt(bytes, index, "contents"));
      bytes[at] = 0x43;
      return new Response(bytes);
    };
    const { files } = await agentFiles("planner", { fetch: changed });
    await mkdir(join(folder, "plans"));
    await writeFile(join(folder, "plans/plan"), "contents");
    await files.putFolder("plans.tar", join(folder, "plans"));
    await assert.rejects(
      files.getFolder("plans.tar", join(folder, "received")),
      (error) => error instanceof AgentError && error.code === "download_mismatch",
    );
    assert.deepEqual(await readdir(folder), ["plans"]);
  }));

function isAt(bytes: Uint8Array, index: number, text: string): boolean {
  return bytesOf(text).every((byte, offset) => bytes[index + offset] === byte);
}

Deno.test("getFolder() of a tar that another program made → all that is in it", () =>
  withFolder(async (folder) => {
    const { files } = await agentFiles("planner");
    await makeSample(join(folder, "drawings"));
    for (const format of ["gnu", "pax"]) {
      const path = join(folder, `${format}.tar`);
      const args = [`--format=${format}`, "-C", folder, "-cf", path, "./drawings"];
      const { code, errors } = await runProgram("tar", { args });
      assert.equal(code, 0, errors);
      await files.put(format, { path }, { mime: "application/x-tar" });
      await files.getFolder(format, join(folder, format));
      assert.deepEqual(await describe(join(folder, format, "drawings")), SAMPLE);
    }
  }));

Deno.test("a tar that only claims to be a packed folder → archive_refused, and no folder", () =>
  withFolder(async (folder) => {
    const listing = entry({ name: "x.listing.tsv" });
    const top = entry({ name: "x/", type: "5" });
    for (
      const parts of [
        [entry({ name: "file" })],
        [top, listing],
        [listing, entry({ name: "y/", type: "5" })],
        [listing, top, entry({ name: "y/file" })],
        [listing, top, entry({ name: "x" })],
        [listing, top, entry({ name: "x.listing.tsv" })],
        [listing],
      ]
    ) {
      const bytes = tar(...parts);
      await assert.rejects(
        extractTar(whole(bytes), join(folder, "x"), { size: bytes.length, isPacked: true }),
        (error) => error instanceof AgentError && error.code === "archive_refused",
      );
    }
    assert.deepEqual(await readdir(folder), []);
  }));

Deno.test("a tar whose folders are not listed, or listed late, with a pax size → extracted", () =>
  withFolder(async (folder) => {
    const bytes = tar(
      entry({ name: "./", type: "5" }),
      entry({ name: "a/b/c", body: "1" }),
      entry({ name: "a/", type: "5", mode: 0o7755 }),
      pax({ path: "a/d", comment: "x" }),
      entry({ name: "other", body: "22", mode: 0o6711 }),
      entry({ name: "old/", type: "\0" }),
    );
    const target = join(folder, "x");
    assert.equal(
      await extractTar(whole(bytes), target, { size: bytes.length, isPacked: false }),
      5,
    );
    assert.deepEqual(await describe(target), {
      "a": "folder",
      "a/b": "folder",
      "a/b/c": "file: 1",
      "a/d": "executable: 22",
      "old": "folder",
    });
  }));

Deno.test("putFolder() of a file that changes meanwhile → source_size_mismatch, and no artifact", () =>
  withFolder(async (folder) => {
    let files: AgentFiles | null = null;
    const growing: typeof fetch = async (input, init) => {
      if (init?.method === "PUT") await writeFile(join(folder, "plans/plan"), "longer than before");
      return await fetch(input, init);
    };
    ({ files } = await agentFiles("planner", { fetch: growing }));
    await mkdir(join(folder, "plans"));
    await writeFile(join(folder, "plans/plan"), "short");
    await assert.rejects(
      files.putFolder("plans.tar", join(folder, "plans")),
      (error) => error instanceof AgentError && error.code === "source_size_mismatch",
    );
    assert.deepEqual(await collect(files.list()), []);
  }));

Deno.test("putFolder() with a bad agent in the last place, or a bad key → refused, and nothing is registered", () =>
  withFolder(async (folder) => {
    const { files, agent } = await agentFiles("planner");
    for (
      const [key, to, says] of [["k", ["builder", "b!"], /^to\[1\]: /], [
        "k/",
        [],
        /^key: /,
      ]] as const
    ) {
      await assert.rejects(
        // The folder does not exist: names are checked before it is read.
        files.putFolder(key, join(folder, "nothing"), { to }),
        (error) => error instanceof AgentError && says.test(error.message),
      );
    }
    assert.deepEqual(await registeredKeys(agent), []);
  }));

Deno.test("walk() of a folder in whose place a link comes while it is read → source_size_mismatch", () =>
  withFolder(async (folder) => {
    await mkdir(join(folder, "plans/deep"), { recursive: true });
    await mkdir(join(folder, "outside"));
    await writeFile(join(folder, "outside/secret"), "secret");
    const node = await nodeModules();
    const readdir = async (path: string) => {
      if (path.endsWith("deep")) {
        await rename(path, join(folder, "moved"));
        await symlink(join(folder, "outside"), path);
      }
      return await node.fs.readdir(path);
    };
    const swapping = { ...node, fs: { ...node.fs, readdir } as unknown as typeof node.fs };
    await assert.rejects(
      walk(swapping, join(folder, "plans"), "plans"),
      (error) => error instanceof AgentError && error.code === "source_size_mismatch",
    );
  }));
