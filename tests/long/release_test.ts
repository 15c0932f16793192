import assert from "node:assert/strict";
import { copyFile, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type Agent, createAgent, SUPABASE_URL } from "../conformance/client.ts";
import { withOwnStack } from "../database/own_stack.ts";
import { documentedBlock } from "../docs/blocks/documentation.ts";
import { Clone } from "./installed_package.ts";
import { openFolder, succeed } from "./narrow_path.ts";

const TEXT = "First the cellar, then the roof.\n";

Deno.test("deno task release in a clean clone → agents on machines with only Node or Python hand over a file", async (t) => {
  await using clone = await Clone.make({ isBuilt: true });
  const dist = join(clone.path, "dist");
  await release(clone);

  await t.step("its files and digests are as promised", async () => {
    assert.deepEqual((await readdir(dist)).sort(), [
      "SHA256SUMS",
      "agent-files-0.0.0.tgz",
      "agent_files-0.0.0-py3-none-any.whl",
      "agentfiles.mjs",
      "agentops-0.0.0.tgz",
      "agentops.mjs",
      "openapi",
    ]);
    assert.deepEqual((await readdir(join(dist, "openapi"))).sort(), [
      "agent-artifacts.json",
      "agent-mesh.json",
    ]);
    await succeed("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: dist });
  });

  await t.step("agentfiles.mjs → at most 450,000 bytes gzipped", async () => {
    const bytes = gzipSync(await readFile(join(dist, "agentfiles.mjs"))).length;
    console.log(`agentfiles.mjs: ${bytes} bytes gzipped`);
    // Half of these bytes is the sandbox peer: libsodium and lwIP.
    assert.ok(bytes < 450_000, String(bytes));
  });

  await t.step("a second run makes the same bytes", async () => {
    const digests = await readFile(join(dist, "SHA256SUMS"), "utf8");
    assert.equal(digests.trimEnd().split("\n").length, 7);
    await release(clone);
    assert.equal(await readFile(join(dist, "SHA256SUMS"), "utf8"), digests);
  });

  await t.step("node agentfiles.mjs, with only node on the PATH → a hand-over", async () => {
    const file = join(dist, "agentfiles.mjs");
    await assertHandOver((args, options) => succeed("node", [file, ...args], options));
  });

  await t.step("npx --package=<the package> agentfiles → a hand-over", async () => {
    const npx = ["--yes", `--package=${join(dist, "agent-files-0.0.0.tgz")}`, "agentfiles"];
    await assertHandOver((args, options) => succeed("npx", [...npx, ...args], options));
  });

  await t.step(
    "docs/command-line.md, Install: its commands, in a folder with only these files",
    async () => {
      await using folder = await openFolder(["node", "npx", "npm", "sh"]);
      for (const file of ["agentfiles.mjs", "agent-files-0.0.0.tgz"]) {
        await copyFile(join(dist, file), join(folder.path, file));
      }
      const [planner, builder] = [await createAgent("planner"), await createAgent("builder")];
      await writeFile(join(folder.path, "plan.txt"), TEXT);
      const block = await documentedBlock("docs/command-line.md, Install, 1");
      await succeed("sh", ["-euc", block.replace("--to builder", `--to ${builder.id}`)], {
        cwd: folder.path,
        env: {
          AGENT_URL: SUPABASE_URL,
          PLANNER: planner.key,
          BUILDER: builder.key,
          PATH: folder.programs,
          HOME: folder.path,
        },
      });
      await assertReceived(folder.path);
    },
  );

  await t.step(
    "docs/operating.md, Without a clone: its commands, in a folder with only these files",
    async () => {
      await using folder = await openFolder(["node", "npx", "npm", "sh"]);
      for (const file of ["agentops.mjs", "agentops-0.0.0.tgz"]) {
        await copyFile(join(dist, file), join(folder.path, file));
      }
      const block = await documentedBlock("docs/operating.md, Without a clone, 1");
      // Tests beside this one put faults into their stack: this one's `doctor` sees its own alone.
      await withOwnStack(async ({ stack }) => {
        await writeFile(join(folder.path, "secret-key.txt"), stack.secretKey);
        // The sweep is not scheduled here, which is a note and no fault.
        const output = await succeed("sh", ["-euc", block], {
          cwd: folder.path,
          env: {
            SUPABASE_URL: stack.url,
            PATH: folder.programs,
            HOME: folder.path,
            XDG_CONFIG_HOME: "",
          },
        });
        assert.match(output, /^staging is http.*\.$/m);
        assert.match(output, /^Healthy: 0 faults/m);
      }, { functionNames: ["agent-artifacts", "agent-mesh"] });
    },
  );

  await t.step("agentops.mjs → at most 600,000 bytes gzipped", async () => {
    const bytes = gzipSync(await readFile(join(dist, "agentops.mjs"))).length;
    console.log(`agentops.mjs: ${bytes} bytes gzipped`);
    assert.ok(bytes < 600_000, String(bytes));
  });

  await t.step("pip install of the wheel → a hand-over", async () => {
    await using folder = await openFolder(["node"]);
    const wheel = join(dist, "agent_files-0.0.0-py3-none-any.whl");
    const site = join(folder.path, "site");
    const pip = ["-m", "pip", "install", "--quiet", "--target", site, wheel];
    await succeed("python3", pip, { cwd: folder.path });
    const [planner, builder] = [await createAgent("planner"), await createAgent("builder")];
    const script = `
import sys
from agent_files import AgentFiles
url, planner, builder, to = sys.argv[1:]
open("plan.txt", "w").write(${JSON.stringify(TEXT)})
AgentFiles(url, planner).put("plan.txt", path="plan.txt", to=[to])
files = AgentFiles(url, builder)
for grant in files.inbox():
    files.get(grant["artifact_id"], "again.txt")
`;
    await succeed("python3", ["-c", script, SUPABASE_URL, planner.key, builder.key, builder.id], {
      cwd: folder.path,
      env: { PYTHONPATH: site },
    });
    assert.equal(await readFile(join(folder.path, "again.txt"), "utf8"), TEXT);
  });

  await t.step(
    "the package names what npm's page and its users need, and what it contains",
    async () => {
      await using folder = await openFolder([]);
      await succeed("tar", ["xzf", join(dist, "agent-files-0.0.0.tgz")], { cwd: folder.path });
      const package_ = join(folder.path, "package");
      const manifest = JSON.parse(await readFile(join(package_, "package.json"), "utf8"));
      const { private: isPrivate, dependencies, devDependencies, scripts } = manifest;
      assert.deepEqual(
        [isPrivate, dependencies, devDependencies, scripts],
        Array(4).fill(undefined),
      );
      assert.ok(manifest.keywords.length > 0);
      // The owner has not chosen a licence yet, so the package declares none.
      assert.equal(manifest.license, "UNLICENSED");
      const licences = await readFile(join(package_, "dist/THIRD-PARTY-LICENSES.txt"), "utf8");
      for (const name of ["zod", "@noble/hashes", "libsodium", "modern-tar", "mrmime"]) {
        assert.match(licences, new RegExp(`^${name} [0-9.]+$`, "m"));
      }
      assert.match(licences, /^lwip \S+\n[\s\S]*Swedish Institute of Computer Science/m);
      assert.ok(manifest.exports["./mesh"] !== undefined);
      const worker = await readFile(join(package_, "dist/agent-peer/mesh/worker.js"), "utf8");
      assert.ok(!worker.includes("has not been built"), "the TCP/IP stack is in the package");
    },
  );
});

interface RunOptions {
  readonly cwd: string;
  readonly env: Record<string, string>;
}

/** planner puts a file for builder, and builder gets it. */
async function assertHandOver(
  run: (args: string[], options: RunOptions) => Promise<string>,
): Promise<void> {
  await using folder = await openFolder(["node", "npx", "npm", "sh"]);
  const [planner, builder] = [await createAgent("planner"), await createAgent("builder")];
  const as = ({ key }: Agent): RunOptions => ({
    cwd: folder.path,
    env: { AGENT_URL: SUPABASE_URL, AGENT_KEY: key, PATH: folder.programs, HOME: folder.path },
  });
  await writeFile(join(folder.path, "plan.txt"), TEXT);
  await run(["put", "plan.txt", "--to", builder.id], as(planner));
  await run(["inbox", "--download", "received"], as(builder));
  await assertReceived(folder.path);
}

async function assertReceived(folder: string): Promise<void> {
  const [sender] = await readdir(join(folder, "received"));
  assert.equal(await readFile(join(folder, "received", sender!, "plan.txt"), "utf8"), TEXT);
}

async function release(clone: Clone): Promise<void> {
  await succeed(Deno.execPath(), ["task", "release"], { cwd: clone.path });
}
