/** Disks that are full or read-only keep no rule open. */
import assert from "node:assert/strict";
import { eventually, run } from "../../wireguard/hosts/run_program.ts";
import { untilListening } from "../../wireguard/hosts/host.ts";
import {
  bringUp,
  type Member,
  Mesh,
  putRule,
  revokeRule,
  TCP_443,
  TCP_80,
} from "../../wireguard/hosts/mesh_of_hosts.ts";
import { reaches, untilPingAnswered } from "../../wireguard/hosts/probes.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { PROGRAM } from "../hosts/command_line.ts";
import { HostAgent } from "../hosts/host_agent.ts";

/** A disk of a host, with its private key and the state of its agent. */
class Disk implements AsyncDisposable {
  private constructor(readonly path: string) {}

  static async mountOn({ host, interfaceName }: Member): Promise<Disk> {
    const path = `${host.directory}/disk`;
    await Deno.mkdir(path);
    await run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", path]);
    await run(["cp", `${host.directory}/${interfaceName}.key`, path]);
    return new Disk(path);
  }

  /** Leaves no room, not even for one byte in a new file. */
  async fill(): Promise<void> {
    await run(["sh", "-c", `cat /dev/zero >"$0" 2>/dev/null || true`, `${this.path}/fill`]);
  }

  async free(): Promise<void> {
    await Deno.remove(`${this.path}/fill`);
  }

  async setReadOnly(isReadOnly: boolean): Promise<void> {
    await run(["mount", "-o", `remount,${isReadOnly ? "ro" : "rw"}`, this.path]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await run(["umount", "--lazy", this.path]);
  }
}

/**
 * The command that runs its arguments with other, full folders in place of /dev/shm and /tmp. The
 * host's folder stays, although it is in /tmp.
 */
function withoutMemory(folder: string): readonly string[] {
  const script = `
mkdir -p /mnt/kept && mount -t tmpfs tmpfs /mnt/kept && mkdir -p "/mnt/kept/folder" &&
mount --rbind "$0" /mnt/kept/folder &&
for place in /dev/shm /tmp; do
  mount -t tmpfs -o size=64k tmpfs "$place" || exit
done
mkdir -p "$0" && mount --rbind /mnt/kept/folder "$0" || exit
for place in /dev/shm /tmp; do cat /dev/zero >"$place/fill" 2>/dev/null; done
exec "$@"`;
  return ["unshare", "--mount", "--propagation", "slave", "sh", "-c", script, folder];
}

interface Pair {
  readonly alice: Member;
  readonly bob: Member;
  readonly disk: Disk;
  readonly meshAgent: HostAgent;
}

/** alice may reach bob's ports 80 and 443. bob's agent has every file on one disk. */
async function start(stack: AsyncDisposableStack): Promise<Pair> {
  const mesh = stack.use(await Mesh.create());
  const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
  for (const target of [TCP_80, TCP_443]) await putRule({ from: alice, to: bob, ...target });
  await bringUp(alice, { firewall: "none" });
  for (const { proto, port } of [TCP_80, TCP_443]) {
    bob.host.start(["socat", `TCP-LISTEN:${port},fork`, "PIPE"], { logName: `serve-${port}` });
    await untilListening(bob.host, { proto, port });
  }
  const disk = stack.use(await Disk.mountOn(bob));
  const [, program = ""] = PROGRAM;
  await Deno.copyFile(program, `${bob.host.directory}/agentfiles.mjs`);
  const meshAgent = await HostAgent.start(bob, {
    mesh,
    configDir: disk.path,
    environment: { RUN_DIR: disk.path },
    before: withoutMemory(bob.host.directory),
    program: ["node", `${bob.host.directory}/agentfiles.mjs`],
  });
  await untilPingAnswered(alice.host, { address: bob.ipv4 });
  assert.deepEqual(await openPorts(alice, bob), [80, 443]);
  return { alice, bob, disk, meshAgent };
}

async function openPorts(alice: Member, bob: Member): Promise<number[]> {
  const open: number[] = [];
  for (const { port } of [TCP_80, TCP_443]) {
    if (await reaches(alice.host, { proto: "tcp", port, address: bob.ipv4 })) open.push(port);
  }
  return open;
}

/** Starts bob's agent again while the service is away, and waits until it has asked twice. */
async function restartWithoutService({ meshAgent }: Pair): Promise<void> {
  await meshAgent.stop("SIGKILL");
  const { door } = meshAgent;
  const given = door.failuresGiven;
  door.failWith("", () => new Response("", { status: 503 }));
  meshAgent.restart();
  await eventually("the agent was told 503 again", {
    condition: () => Promise.resolve(door.failuresGiven > given + 1),
  });
}

async function untilFirewallIsBack({ bob }: Pair): Promise<void> {
  await bob.host.run(["nft", "flush", "ruleset"]);
  await eventually("bob's firewall is back", {
    condition: async () => await bob.host.run(["nft", "list", "tables"]) !== "",
  });
}

tunnelTest(
  "a rule that is revoked while every disk is full, /tmp and /dev/shm, too → closed, also after the firewall was flushed and after a restart",
  async () => {
    await using stack = new AsyncDisposableStack();
    const pair = await start(stack);
    const { alice, bob, disk, meshAgent } = pair;
    const stored = `${disk.path}/${bob.interfaceName}.json`;
    assert.match(await Deno.readTextFile(stored), /"port":443/);

    await disk.fill();
    await revokeRule({ from: alice, to: bob, ...TCP_443 });
    await meshAgent.untilApplied();
    assert.deepEqual(await openPorts(alice, bob), [80]);
    // It may be missing, but it must not be older.
    assert.doesNotMatch(await Deno.readTextFile(stored).catch(() => ""), /"port":443/);
    await untilFirewallIsBack(pair);
    assert.deepEqual(await openPorts(alice, bob), [80]);
    await restartWithoutService(pair);
    assert.ok(!(await openPorts(alice, bob)).includes(443));

    await disk.free();
    meshAgent.door.recover();
    await eventually("the configuration is stored", {
      condition: async () => /"port":80/.test(await Deno.readTextFile(stored).catch(() => "")),
    });
    assert.deepEqual(await openPorts(alice, bob), [80]);
  },
);

tunnelTest(
  "a rule that is revoked while the file system is read-only → closed, also after the firewall was flushed; writable again → stored, and a restart keeps it closed",
  async () => {
    await using stack = new AsyncDisposableStack();
    const pair = await start(stack);
    const { alice, bob, disk, meshAgent } = pair;
    const stored = `${disk.path}/${bob.interfaceName}.json`;

    await disk.setReadOnly(true);
    await revokeRule({ from: alice, to: bob, ...TCP_443 });
    await meshAgent.untilApplied();
    assert.deepEqual(await openPorts(alice, bob), [80]);
    await untilFirewallIsBack(pair);
    assert.deepEqual(await openPorts(alice, bob), [80]);

    await disk.setReadOnly(false);
    await eventually("the configuration is stored", {
      condition: async () => !/"port":443/.test(await Deno.readTextFile(stored).catch(() => "443")),
    });
    await restartWithoutService(pair);
    await untilFirewallIsBack(pair);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    assert.deepEqual(await openPorts(alice, bob), [80]);
  },
);

tunnelTest(
  "killed while the file system is read-only, with a rule revoked → a restart does not open it, and says what is wrong",
  async () => {
    await using stack = new AsyncDisposableStack();
    const { alice, bob, disk, meshAgent } = await start(stack);
    await disk.setReadOnly(true);
    await revokeRule({ from: alice, to: bob, ...TCP_443 });
    await meshAgent.untilApplied();
    await meshAgent.stop("SIGKILL");
    const { code, log } = await meshAgent.runSecond();
    assert.equal(code, 1);
    assert.match(log, /EROFS|read-only/);
    assert.deepEqual(await openPorts(alice, bob), [80]);
  },
);

tunnelTest(
  "an empty key file, and a full disk → it says so, and registers a new key as soon as there is room",
  async () => {
    await using stack = new AsyncDisposableStack();
    const { bob, disk, meshAgent } = await start(stack);
    const keyFile = `${disk.path}/${bob.interfaceName}.key`;
    const before = await Deno.readTextFile(keyFile);
    await meshAgent.stop("SIGTERM");
    await Deno.truncate(keyFile);
    await disk.fill();
    meshAgent.restart();
    await eventually("the agent says that it cannot write a key", {
      condition: async () =>
        /no private key can be written to .*: is the disk full\?/.test(await meshAgent.readLog()),
    });
    assert.equal((await Deno.stat(keyFile)).size, 0);

    await disk.free();
    await eventually("the agent has a new key", {
      condition: async () => (await Deno.stat(keyFile)).size === 45,
    });
    assert.notEqual(await Deno.readTextFile(keyFile), before);
    const publicKey = await run(["wg", "pubkey"], { input: await Deno.readTextFile(keyFile) });
    await meshAgent.untilRunsWith(publicKey);
  },
);
