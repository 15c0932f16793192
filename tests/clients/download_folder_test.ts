import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AgentFiles, InboxEntry } from "../../clients/typescript/src/index.ts";
import { downloadGrant } from "../../clients/typescript/src/cli/files/download_folder.ts";
import { safeSegments } from "../../clients/typescript/src/cli/files/safe_path.ts";

const CONTENT = "hostile";
const SHA256 = createHash("sha256").update(CONTENT).digest("hex");
const ARTIFACT_ID = `art_${"12345678".repeat(4)}`;

function grantOf(key: string, from_agent = "planner"): InboxEntry {
  return {
    grant_id: "grant_1",
    artifact_id: ARTIFACT_ID,
    from_agent,
    key,
    mime: "text/plain",
    size: CONTENT.length,
    sha256: SHA256,
    granted_at: "",
    expires_at: "",
  };
}

/** A service that says whatever a hostile one could. */
function service(key: string): AgentFiles {
  const artifact = { artifact_id: ARTIFACT_ID, key };
  return {
    get: () => Promise.resolve({ body: new Blob([CONTENT]).stream(), artifact }),
  } as unknown as AgentFiles;
}

async function inFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const outer = await Deno.makeTempDir();
  try {
    await run(join(outer, "received"));
    assert.deepEqual(await readdir(outer), ["received"], "nothing beside the folder");
  } finally {
    await Deno.remove(outer, { recursive: true });
  }
}

const download = (key: string, folder: string, agent?: string) =>
  downloadGrant(service(key), grantOf(key, agent), { folder, onProgress: () => {} });

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
      const { path } = await download(key, folder, agent);
      assert.ok(path.startsWith(`${folder}/`));
      assert.equal(await readFile(path, "utf8"), CONTENT);
    }));
}

Deno.test("inbox --download with a link in the folder that leads out → refused, and nothing is there", () =>
  inFolder(async (folder) => {
    const elsewhere = await Deno.makeTempDir();
    try {
      await mkdir(folder);
      await symlink(elsewhere, join(folder, "planner"));
      await assert.rejects(download("plan.txt", folder), /no free name/);
      assert.deepEqual(await readdir(elsewhere), []);
    } finally {
      await Deno.remove(elsewhere, { recursive: true });
    }
  }));

Deno.test("inbox --download of a key below another key's file → another name, and both are there", () =>
  inFolder(async (folder) => {
    await mkdir(join(folder, "planner"), { recursive: true });
    await writeFile(join(folder, "planner/plan"), "mine");
    const { path } = await download("plan/house.txt", folder);
    assert.equal(await readFile(path, "utf8"), CONTENT);
    assert.equal(await readFile(join(folder, "planner/plan"), "utf8"), "mine");
  }));

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
