import assert from "node:assert/strict";
import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { downloadOriginal } from "../../dev/mesh/apt_source.ts";
import { ARCHIVE, LWIP } from "../../dev/mesh/lwip_source.ts";
import { PROJECT } from "../../packages/local/project.ts";
import { runProgram } from "../../packages/local/processes/run_program.ts";
import { documentedBlock } from "../docs/blocks/documentation.ts";
import { Clone } from "./installed_package.ts";
import { openFolder, succeed } from "./narrow_path.ts";

const RELEASED = [
  "SHA256SUMS",
  "agent-files-0.0.0.tgz",
  "agent_files-0.0.0-py3-none-any.whl",
  "agentfiles.mjs",
  "agentops-0.0.0.tgz",
  "agentops.mjs",
  "openapi",
];

/** Only the sandbox peer contains this sentence, in the place of its TCP/IP stack. */
const NOT_BUILT = "has not been built";

Deno.test("deno task release in a clean clone, by a user without root who has downloaded nothing → everything, with the sandbox peer", async () => {
  await using clone = await Clone.make();
  const home = await Deno.makeTempDir();
  try {
    const deno = join(home, "deno");
    await copyFile(Deno.execPath(), deno);
    await succeed("chown", ["-R", "nobody", home, clone.path]);
    const env = {
      HOME: home,
      DENO_DIR: join(home, "deno-dir"),
      npm_config_cache: join(home, "npm"),
      TMPDIR: home,
    };
    const user = ["--reuid=nobody", "--regid=nogroup", "--clear-groups"];
    await succeed("setpriv", [...user, deno, "task", "release"], { cwd: clone.path, env });
    assert.deepEqual((await readdir(join(clone.path, "dist"))).sort(), RELEASED);
    const program = await readFile(join(clone.path, "dist/agentfiles.mjs"), "utf8");
    assert.ok(!program.includes(NOT_BUILT));
  } finally {
    await Deno.remove(home, { recursive: true });
  }
});

Deno.test("with only node and sh on the PATH", async (t) => {
  await using clone = await Clone.make();
  await using folder = await openFolder(["node", "npm", "npx", "sh"]);
  const env = { PATH: folder.programs };
  const dist = join(clone.path, "dist");
  const release = (...args: string[]) =>
    runProgram(Deno.execPath(), { args: ["task", "release", ...args], cwd: clone.path, env });

  await t.step("deno task release --complete → exit 1, and dist/ is as it was", async () => {
    await mkdir(dist);
    await writeFile(join(dist, "earlier"), "an earlier release");
    const { code, errors } = await release("--complete");
    assert.equal(code, 1, errors);
    assert.match(errors, /This machine has no apt-get\./);
    assert.deepEqual(await readdir(dist), ["earlier"]);
  });

  await t.step(
    "deno task release, beside a TCP/IP stack of another tree → everything but the sandbox peer, and a sentence",
    async () => {
      const built = join(clone.path, "packages/agent-peer/ip/built");
      await mkdir(built, { recursive: true });
      await writeFile(join(built, "lwip.wasm"), "of another tree");
      await writeFile(join(built, "lwip.LICENSE.txt"), "of another tree");
      const { code, errors } = await release();
      assert.equal(code, 0, errors);
      assert.match(errors, /^Without the sandbox peer .* no apt-get\. .*--lwip-source\.$/m);
      assert.deepEqual((await readdir(dist)).sort(), RELEASED);
      assert.ok((await readFile(join(dist, "agentfiles.mjs"), "utf8")).includes(NOT_BUILT));
    },
  );

  await t.step(
    "--lwip-source with a file of other bytes → exit 1, dist/ is as it was",
    async () => {
      const before = await readFile(join(dist, "SHA256SUMS"), "utf8");
      const file = join(folder.path, ARCHIVE);
      await writeFile(file, "other bytes");
      const { code, errors } = await release("--lwip-source", file);
      assert.equal(code, 1);
      assert.match(errors, /has the SHA-256 [0-9a-f]{64}\. lwip_\S+ has [0-9a-f]{64}\./);
      assert.equal(await readFile(join(dist, "SHA256SUMS"), "utf8"), before);
      const missing = await release("--lwip-source", join(folder.path, "nothing"));
      assert.match(missing.errors, /^lwIP's archive cannot be read: /m);
      assert.equal(await readFile(join(dist, "SHA256SUMS"), "utf8"), before);
    },
  );

  await t.step("docs/sandbox.md, Build it → both commands compile the same file", async () => {
    await writeFile(join(clone.path, ARCHIVE), await downloadOriginal(LWIP));
    const built = join(clone.path, "packages/agent-peer/ip/built/lwip.wasm");
    const named = await documentedBlock("docs/sandbox.md, Build it, 2");
    await runBlock(named, clone.path, env);
    assert.deepEqual(await readFile(built), await readFile(inProject(built, clone.path)));
    await Deno.remove(built);
    const downloaded = await documentedBlock("docs/sandbox.md, Build it, 1");
    await runBlock(downloaded, clone.path, {});
    assert.deepEqual(await readFile(built), await readFile(inProject(built, clone.path)));
  });

  await t.step("deno task release, after that → everything, with the sandbox peer", async () => {
    const { code, errors } = await release();
    assert.equal(code, 0, errors);
    assert.doesNotMatch(errors, /sandbox peer/);
    assert.ok(!(await readFile(join(dist, "agentfiles.mjs"), "utf8")).includes(NOT_BUILT));
  });
});

function inProject(path: string, clone: string): string {
  return join(PROJECT, path.slice(clone.length));
}

async function runBlock(block: string, cwd: string, env: Record<string, string>): Promise<void> {
  const sh = (await succeed("sh", ["-c", "command -v sh"])).trim();
  await succeed(sh, ["-euc", block], { cwd, env });
}
