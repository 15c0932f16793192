/** The local stack on other platforms, as far as Linux x64 can test that. */
import assert from "node:assert/strict";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CommandError } from "../../packages/command/command_error.ts";
import {
  ignoredSignals,
  ignoredSignalsFromPs,
  readFromProc,
  readFromPs,
} from "../../packages/local/processes/process_table.ts";
import { locatePostgrest } from "../../packages/local/stack/postgrest.ts";

const LINUX = Deno.build.os === "linux";

Deno.test({
  name: "ps → knows of running processes what /proc knows",
  ignore: !LINUX,
  async fn() {
    for (const pid of [Deno.pid, Deno.ppid, 1]) {
      const [proc, ps] = [await readFromProc(pid), await readFromPs(pid)];
      assert.ok(proc !== null && ps !== null);
      assert.equal(ps.parent, proc.parent);
      assert.equal(ps.command.join(" "), proc.command.join(" ").trimEnd());
      assert.match(ps.startedAt, /^\w{3} \w{3} +\d+ [\d:]{8} \d{4}$/);
      assert.equal((await readFromPs(pid))?.startedAt, ps.startedAt);
    }
    assert.equal(
      BigInt(`0x${await ignoredSignalsFromPs(Deno.pid)}`),
      await ignoredSignals(),
    );
  },
});

Deno.test("a process that has ended, a zombie → none, from ps and from /proc", async () => {
  const ended = new Deno.Command("true").spawn();
  await ended.status;
  // The shell prints its child's process id and never waits for the child.
  const parent = new Deno.Command("sh", {
    args: ["-c", "true & echo $!; exec sleep 60"],
    stdout: "piped",
  }).spawn();
  try {
    const reader = parent.stdout.getReader();
    const zombie = Number(new TextDecoder().decode((await reader.read()).value));
    await reader.cancel();
    // `true` may need a moment to end.
    while (await readFromPs(zombie) !== null) await new Promise((done) => setTimeout(done, 20));
    for (const pid of [ended.pid, zombie]) {
      assert.equal(await readFromPs(pid), null);
      if (LINUX) assert.equal(await readFromProc(pid), null);
    }
  } finally {
    parent.kill();
    await parent.status;
  }
});

for (
  const [os, arch] of [["darwin", "aarch64"], ["darwin", "x86_64"], ["linux", "aarch64"]] as const
) {
  Deno.test(`PostgREST on ${os} ${arch} → the one on the PATH, else an error that says what to do`, async () => {
    const folder = await Deno.makeTempDir();
    try {
      const [empty, other, homebrew] = ["empty", "other", "homebrew"].map((name) =>
        join(folder, name)
      );
      for (const path of [empty!, other!, homebrew!]) await mkdir(path);
      const [place, notNamed] = [{ os, arch }, { postgrestBinary: null }];
      // A file without execute permission does not count.
      await writeFile(join(other!, "postgrest"), "");
      await assert.rejects(
        locatePostgrest(notNamed, { ...place, path: `${empty}:${other}` }),
        (error) =>
          error instanceof CommandError &&
          /brew install postgrest.*supabase start/.test(error.message),
      );
      const binary = join(homebrew!, "postgrest");
      await writeFile(binary, "#!/bin/sh\n");
      await chmod(binary, 0o755);
      const path = ["", empty, other, homebrew].join(":");
      assert.equal(await locatePostgrest(notNamed, { ...place, path }), binary);
      for (const named of ["/bin/sh", `${binary}.old`]) {
        const located = locatePostgrest({ postgrestBinary: named }, { ...place, path });
        if (named === "/bin/sh") assert.equal(await located, named);
        else await assert.rejects(located, /POSTGREST_BIN names .*, which does not exist/);
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}
