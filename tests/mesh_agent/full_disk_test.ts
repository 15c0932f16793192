import assert from "node:assert/strict";
import { eventually, run } from "../wireguard/hosts/run_program.ts";
import { untilListening } from "../wireguard/hosts/host.ts";
import {
  bringUp,
  type Member,
  Mesh,
  putRule,
  revokeRule,
  TCP_443,
  TCP_80,
} from "../wireguard/hosts/mesh_of_hosts.ts";
import { reaches, untilPingAnswered } from "../wireguard/hosts/probes.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";
import { referenceTest } from "./command_agent.ts";
import { EXAMPLES, runDirectoryOf } from "./agent_settings.ts";
import { hangRequests, letRequestsPass, ReferenceAgent } from "./reference_agent.ts";

/** A disk of a host, which can be full. */
class Disk implements AsyncDisposable {
  private constructor(readonly path: string) {}

  static async mountAt(path: string, size: string): Promise<Disk> {
    await Deno.mkdir(path);
    await run(["mount", "-t", "tmpfs", "-o", `size=${size}`, "tmpfs", path]);
    return new Disk(path);
  }

  /** With the member's private key, whose public key is registered. */
  static async mountOn({ host, interfaceName }: Member): Promise<Disk> {
    const disk = await Disk.mountAt(`${host.directory}/disk`, "1m");
    await run(["cp", `${host.directory}/${interfaceName}.key`, disk.path]);
    return disk;
  }

  /** Leaves no room, not even for one byte in a new file. */
  async fill(): Promise<void> {
    await run(["sh", "-c", `cat /dev/zero >"$0" 2>/dev/null || true`, `${this.path}/fill`]);
  }

  async free(): Promise<void> {
    await Deno.remove(`${this.path}/fill`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await run(["umount", "--lazy", this.path]);
  }
}

async function aliceAndBob(mesh: Mesh): Promise<{ alice: Member; bob: Member }> {
  const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
  for (const target of [TCP_80, TCP_443]) await putRule({ from: alice, to: bob, ...target });
  await bringUp(alice, { firewall: "none" });
  return { alice, bob };
}

async function serve({ host }: Member): Promise<void> {
  for (const { proto, port } of [TCP_80, TCP_443]) {
    host.start(["socat", `TCP-LISTEN:${port},fork`, "PIPE"], { logName: `serve-${port}` });
    await untilListening(host, { proto, port });
  }
}

tunnelTest(
  "a rule that is revoked while the disk of the agent is full → closed, also after the firewall was flushed; the stored configuration does not have it",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await aliceAndBob(mesh);
    await using disk = await Disk.mountOn(bob);
    const meshAgent = await ReferenceAgent.start(bob, { mesh, configDir: disk.path });
    const stored = `${disk.path}/${bob.interfaceName}.conf`;
    assert.equal(
      await Deno.readTextFile(stored),
      await Deno.readTextFile(meshAgent.configurationFile),
    );
    await serve(bob);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    assert.ok(await reaches(alice.host, { ...TCP_443, address: bob.ipv4 }));

    await disk.fill();
    await revokeRule({ from: alice, to: bob, ...TCP_443 });
    await meshAgent.untilApplied();
    assert.equal(await reaches(alice.host, { ...TCP_443, address: bob.ipv4 }), false);
    assert.ok(await reaches(alice.host, { ...TCP_80, address: bob.ipv4 }));
    // It may be missing, but it must not be older.
    const left = await Deno.readTextFile(stored).catch(() => "");
    assert.doesNotMatch(left, /tcp \. 443/);
    await bob.host.run(["nft", "flush", "ruleset"]);
    await eventually("bob's firewall is back", {
      condition: async () => await bob.host.run(["nft", "list", "tables"]) !== "",
    });
    assert.equal(await reaches(alice.host, { ...TCP_443, address: bob.ipv4 }), false);

    // A killed agent starts with what ran, not with what was stored before.
    await meshAgent.stop("SIGKILL");
    meshAgent.door.failWith("", () => new Response("", { status: 503 }));
    meshAgent.restart();
    await eventually("the agent was told 503 again", {
      condition: () => Promise.resolve(meshAgent.door.failuresGiven > 1),
    });
    assert.equal(await reaches(alice.host, { ...TCP_443, address: bob.ipv4 }), false);
    assert.ok(await reaches(alice.host, { ...TCP_80, address: bob.ipv4 }));

    await disk.free();
    await eventually("the configuration is stored", {
      condition: () => Deno.stat(stored).then(() => true, () => false),
    });
    assert.doesNotMatch(await Deno.readTextFile(stored), /tcp \. 443/);
  },
);

referenceTest(
  "a rule that is revoked while RUN_DIR is full, at the start and later → closed; the last configuration is not refused",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await aliceAndBob(mesh);
    await using disk = await Disk.mountAt(runDirectoryOf(bob.host), "4m");
    const meshAgent = await ReferenceAgent.start(bob, { mesh });
    await serve(bob);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    assert.ok(await reaches(alice.host, { ...TCP_443, address: bob.ipv4 }));

    await disk.fill();
    await revokeRule({ from: alice, to: bob, ...TCP_443 });
    await meshAgent.untilApplied();
    assert.equal(await reaches(alice.host, { ...TCP_443, address: bob.ipv4 }), false);
    assert.ok(await reaches(alice.host, { ...TCP_80, address: bob.ipv4 }));
    const [, spare] = /the working files are in (\S+)/.exec(await meshAgent.readLog())!;
    assert.equal((await Deno.stat(spare!)).mode! & 0o777, 0o700);

    await meshAgent.stop("SIGTERM");
    await assert.rejects(Deno.stat(spare!), Deno.errors.NotFound);
    meshAgent.door.failWith("", () => new Response("", { status: 503 }));
    meshAgent.restart();
    await eventually("the last configuration is up", {
      condition: async () => /the last configuration is up/.test(await meshAgent.readLog()),
    });
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    assert.ok(await reaches(alice.host, { ...TCP_80, address: bob.ipv4 }));
    assert.equal(await reaches(alice.host, { ...TCP_443, address: bob.ipv4 }), false);
    assert.doesNotMatch(await meshAgent.readLog(), /refused/);
    await meshAgent.stop("SIGTERM");
  },
);

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

referenceTest(
  "a rule that is revoked while RUN_DIR, /dev/shm and /tmp are all full → closed; nothing stays mounted",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await aliceAndBob(mesh);
    await using disk = await Disk.mountAt(runDirectoryOf(bob.host), "4m");
    const before = withoutMemory(bob.host.directory);
    const meshAgent = await ReferenceAgent.start(bob, { mesh, before });
    await serve(bob);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    assert.ok(await reaches(alice.host, { ...TCP_443, address: bob.ipv4 }));

    await disk.fill();
    await revokeRule({ from: alice, to: bob, ...TCP_443 });
    await meshAgent.untilApplied();
    assert.match(await meshAgent.readLog(), /the working files are in \S+\.spare\//);
    assert.equal(await reaches(alice.host, { ...TCP_443, address: bob.ipv4 }), false);
    assert.ok(await reaches(alice.host, { ...TCP_80, address: bob.ipv4 }));
    await meshAgent.stop("SIGTERM");
    const left = Array.from(Deno.readDirSync(disk.path), ({ name }) => name);
    assert.deepEqual(left.filter((name) => name.endsWith(".spare")), []);
  },
);

referenceTest(
  "RUN_DIR, /dev/shm and /tmp are full, and the agent may not mount → after a minute of answers the tunnel is down; it comes up again when there is room",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await aliceAndBob(mesh);
    await using disk = await Disk.mountAt(runDirectoryOf(bob.host), "4m");
    const before = [
      ...withoutMemory(bob.host.directory),
      "setpriv",
      "--inh-caps=-sys_admin",
      "--bounding-set=-sys_admin",
    ];
    const meshAgent = await ReferenceAgent.start(bob, { mesh, before });
    await serve(bob);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });

    await disk.fill();
    await hangRequests(bob.host);
    // The pauses after the first five of these take a minute.
    await eventually("the agent has had neither room nor an answer for a minute", {
      condition: async () => (await meshAgent.readLog()).split("there is no room").length > 6,
    });
    assert.doesNotMatch(await meshAgent.readLog(), /taking the tunnel down/);
    assert.ok(await reaches(alice.host, { ...TCP_443, address: bob.ipv4 }));

    await letRequestsPass(bob.host);
    await revokeRule({ from: alice, to: bob, ...TCP_443 });
    await eventually("the tunnel is down", {
      condition: async () => !(await bob.host.runAnyhow(["wg", "show", bob.interfaceName])).success,
    });
    assert.match(await meshAgent.readLog(), /one may revoke a rule; taking the tunnel down/);
    assert.equal(await reaches(alice.host, { ...TCP_443, address: bob.ipv4 }), false);

    await disk.free();
    await meshAgent.untilApplied();
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    assert.equal(await reaches(alice.host, { ...TCP_443, address: bob.ipv4 }), false);
    assert.ok(await reaches(alice.host, { ...TCP_80, address: bob.ipv4 }));
  },
);

tunnelTest(
  "a long request while /tmp is full → bash, which needs a file for it, has room",
  async () => {
    await using mesh = await Mesh.create();
    const { host } = await mesh.join("alice");
    const script = `cd "$0"; RUN_DIR=$1 INTERFACE=mesh0 CONFIG_DIR=$1
source configuration.sh; source host/tunnel.sh; source host/room.sh
make_work && printf -v long %200000s && wc -c <<<"$long"`;
    const command = ["bash", "-c", script, `${EXAMPLES}/mesh-agent`, host.directory];
    const written = await host.run([...withoutMemory(host.directory), ...command]);
    assert.equal(written.trim(), "200001");
  },
);

tunnelTest(
  "an empty key file, and a full disk → the agent says so, and registers a new key as soon as there is room",
  async () => {
    await using mesh = await Mesh.create();
    const { bob } = await aliceAndBob(mesh);
    await using disk = await Disk.mountOn(bob);
    const meshAgent = await ReferenceAgent.start(bob, { mesh, configDir: disk.path });
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
    await eventually("the tunnel runs with it", {
      condition: async () =>
        (await bob.host.runAnyhow(["wg", "show", bob.interfaceName, "public-key"])).output ===
          (await bob.host.run(["wg", "pubkey"], { input: await Deno.readTextFile(keyFile) })),
    });
  },
);
