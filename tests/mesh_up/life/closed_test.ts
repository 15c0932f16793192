/** A revoked rule is closed, whatever this host lacks. */
import assert from "node:assert/strict";
import { eventually, run } from "../../wireguard/hosts/run_program.ts";
import { linkProgramsBut, untilListening } from "../../wireguard/hosts/host.ts";
import {
  bringUp,
  hasInterface,
  type Member,
  Mesh,
  putRule,
  revokeRule,
  TCP_443,
  TCP_80,
} from "../../wireguard/hosts/mesh_of_hosts.ts";
import { reaches, untilPingAnswered } from "../../wireguard/hosts/probes.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { ServiceDoor } from "../../wireguard/hosts/service_door.ts";
import { startUp, untilSaid } from "../hosts/typed.ts";

async function aliceAndBob(mesh: Mesh): Promise<{ alice: Member; bob: Member; door: ServiceDoor }> {
  const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
  for (const target of [TCP_80, TCP_443]) await putRule({ from: alice, to: bob, ...target });
  await bringUp(alice, { firewall: "none" });
  for (const { proto, port } of [TCP_80, TCP_443]) {
    bob.host.start(["socat", `TCP-LISTEN:${port},fork`, "PIPE"], { logName: `serve-${port}` });
    await untilListening(bob.host, { proto, port });
  }
  return { alice, bob, door: mesh.attach(await ServiceDoor.open(bob.host)) };
}

async function isClosed(alice: Member, bob: Member, port: number): Promise<boolean> {
  return !await reaches(alice.host, { proto: "tcp", port, address: bob.ipv4 });
}

tunnelTest(
  "a rule that is revoked while no program can be started → closed by one that was started before; the next one → the tunnel is down; programs again → up",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await aliceAndBob(mesh);
    const programs = await linkProgramsBut("nothing", bob.host.directory);
    await startUp(bob, { environment: { PATH: programs } });
    await untilSaid(bob, "is applied");
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    assert.equal(await isClosed(alice, bob, 443), false);

    // As without memory for a process: each start fails.
    const [away, lacking] = [`${bob.host.directory}/away`, ["nft", "ip", "wg", "sh"]];
    await Deno.mkdir(away);
    for (const name of lacking) await Deno.rename(`${programs}/${name}`, `${away}/${name}`);
    await revokeRule({ from: alice, to: bob, ...TCP_443 });
    await eventually("port 443 is closed", { condition: () => isClosed(alice, bob, 443) });
    assert.equal(await isClosed(alice, bob, 80), false);

    await revokeRule({ from: alice, to: bob, ...TCP_80 });
    await eventually("the tunnel is down", { condition: async () => !await hasInterface(bob) });
    assert.ok(await isClosed(alice, bob, 80));

    for (const name of lacking) await Deno.rename(`${away}/${name}`, `${programs}/${name}`);
    await putRule({ from: alice, to: bob, ...TCP_80 });
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    assert.equal(await isClosed(alice, bob, 80), false);
    assert.ok(await isClosed(alice, bob, 443));
  },
);

tunnelTest(
  "a ruleset that nft refuses → the tunnel is down; accepted again → it is up",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await aliceAndBob(mesh);
    const programs = await linkProgramsBut("nft", bob.host.directory);
    const nft = (await run(["sh", "-c", "command -v nft"])).trim();
    const flag = `${bob.host.directory}/refuses`;
    const script = `#!/bin/sh\n[ "$1" != -f ] || [ ! -e ${flag} ] || exit 1\nexec ${nft} "$@"\n`;
    await Deno.writeTextFile(`${programs}/nft`, script, { mode: 0o755 });
    await startUp(bob, { environment: { PATH: programs } });
    await untilSaid(bob, "is applied");
    await untilPingAnswered(alice.host, { address: bob.ipv4 });

    await Deno.writeTextFile(flag, "");
    await bob.host.run(["nft", "flush", "ruleset"]);
    await untilSaid(bob, "the firewall cannot be loaded; taking the tunnel down");
    await eventually("the tunnel is down", { condition: async () => !await hasInterface(bob) });
    await Deno.remove(flag);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
  },
);
