import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Context } from "../../context.ts";
import type { Settings } from "../../mesh/up/basics/settings.ts";
import { install, unitText } from "../../mesh/up/install.ts";

const SETTINGS = { interfaceName: "mesh7", runFolder: "/run/agentfiles-mesh" } as Settings;
const CONTEXT = { connection: () => Promise.resolve({}) } as unknown as Context;

/** Installs below an empty folder. */
async function installed<Result>(
  hasSystemd: boolean,
  look: (root: string, installed: Awaited<ReturnType<typeof install>>) => Promise<Result>,
): Promise<Result> {
  const root = await mkdtemp(join(tmpdir(), "mesh-up-install-"));
  const before = { ...process.env };
  Object.assign(process.env, { AGENT_URL: "https://p.example", AGENT_KEY: "ak_secret" });
  try {
    if (hasSystemd) await mkdir(join(root, "run/systemd/system"), { recursive: true });
    const options = ["--interface", "mesh7", "--endpoint", "100%.example:1"];
    return await look(root, await install(SETTINGS, { context: CONTEXT, options, root }));
  } finally {
    for (const name of ["AGENT_URL", "AGENT_KEY"]) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
    await rm(root, { recursive: true });
  }
}

Deno.test("mesh up --install on a host with systemd → a unit with the options, and a login that only root can read", async () => {
  await installed(true, async (root, { unit, text }) => {
    assert.equal(unit, join(root, "etc/systemd/system/agentfiles-mesh-mesh7.service"));
    const written = await readFile(unit!, "utf8");
    assert.match(
      written,
      /^ExecStart=\S+ .*mesh up --interface mesh7 --endpoint 100%%\.example:1$/m,
    );
    assert.doesNotMatch(written + text, /ak_secret/);
    const login = join(root, "etc/agentfiles/login.json");
    assert.equal((await stat(login)).mode & 0o777, 0o600);
    assert.deepEqual(JSON.parse(await readFile(login, "utf8")), {
      url: "https://p.example",
      key: "ak_secret",
    });
  });
});

Deno.test("mesh up --install on a host without systemd → no unit, and a script for another init", async () => {
  await installed(false, async (root, { unit, text }) => {
    assert.equal(unit, null);
    assert.match(text, /\/etc\/init\.d\/agentfiles-mesh-mesh7:\n\n#!\/sbin\/openrc-run\n/);
    assert.match(text, /^XDG_CONFIG_HOME=\/etc \S+ .*mesh up --interface mesh7/m);
    assert.doesNotMatch(text, /ak_secret/);
    await assert.rejects(stat(join(root, "etc/systemd")), { code: "ENOENT" });
  });
});

Deno.test("a program in a home folder → the unit may read home folders", () => {
  assert.match(
    unitText(["/usr/bin/node", "/usr/local/lib/agentfiles/agentfiles.mjs"]),
    /^ProtectHome=yes$/m,
  );
  assert.doesNotMatch(unitText(["/home/me/.nvm/node", "/x.mjs"]), /ProtectHome/);
});
