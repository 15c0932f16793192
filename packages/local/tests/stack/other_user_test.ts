/**
 * What the system denies to other users. A test cannot become an ordinary user, so root drops the
 * capability that would allow it.
 */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { identifyProcess, isRunning } from "../../processes/process_identity.ts";
import { ProcessRecords, STACK } from "../../state/process_records.ts";
import { launch, openStateDirectory, runTask, snapshot } from "./stack_process.ts";

const NOBODY = 65_534;
const mustRun = Deno.env.get("CI") === "true";
const canDeny = Deno.build.os === "linux" && Deno.uid() === 0 && await hasSetpriv();
const ignore = !canDeny && !mustRun;
if (ignore) {
  console.log("Left out: what another user may not do. It takes Linux, root and setpriv.");
}
const everyPortIsOpen = lowestFreeForAll() <= 80;
if (everyPortIsOpen) {
  console.log("Left out: a port that is closed to this user. This machine opens port 80 to all.");
}

async function hasSetpriv(): Promise<boolean> {
  const setpriv = new Deno.Command("setpriv", { args: ["--version"], stdout: "null" });
  return await setpriv.output().then(({ success }) => success, () => false);
}

/** The lowest port that requires no capability. */
function lowestFreeForAll(): number {
  try {
    return Number(Deno.readTextFileSync("/proc/sys/net/ipv4/ip_unprivileged_port_start"));
  } catch {
    return 1024;
  }
}

for (const task of ["stop", "reset"]) {
  Deno.test({
    name: `${task} of a stack that another user runs → one sentence, nothing ended or removed`,
    ignore,
    async fn() {
      await using state = await openStateDirectory();
      const child = new Deno.Command("sleep", {
        args: ["600"],
        uid: NOBODY,
        gid: NOBODY,
        // Any user may enter this directory.
        cwd: "/",
      }).spawn();
      try {
        await new ProcessRecords(state.path).set(STACK, child.pid);
        await writeFile(join(state.path, "pid"), `${child.pid}\n`);
        const before = await snapshot(state.path);
        const { code, errors } = await runTask(`packages/local/stack/${task}.ts`, {
          environment: { STATE_DIR: state.path },
          through: ["setpriv", "--bounding-set=-kill"],
        });
        assert.equal(code, 1);
        assert.equal(
          errors,
          `Process ${child.pid} of this state directory belongs to another user: only that user or root can end it.`,
        );
        assert.equal(await isRunning((await identifyProcess(child.pid))!), true);
        assert.deepEqual(await snapshot(state.path), before);
      } finally {
        child.kill("SIGKILL");
        await child.status;
      }
    },
  });
}

Deno.test({
  name: "start on a port that this user may not open → says so, and not that the service runs",
  ignore: ignore || everyPortIsOpen,
  async fn() {
    await using state = await openStateDirectory();
    const service = await launch({
      stateDir: state.path,
      port: 80,
      through: ["setpriv", "--bounding-set=-net_bind_service"],
    });
    assert.equal(await service.exit(), 1);
    assert.equal(
      (await service.errors).trim(),
      "Port 80 on 127.0.0.1 cannot be used: the system does not let this user open it (usually because it is below 1024); set PORT to a higher one.",
    );
  },
});
