import assert from "node:assert/strict";
import { eventually } from "../../wireguard/hosts/run_program.ts";
import { untilListening } from "../../wireguard/hosts/host.ts";
import {
  bringUp,
  Mesh,
  putRule,
  revokeRule,
  TCP_443,
  TCP_80,
} from "../../wireguard/hosts/mesh_of_hosts.ts";
import { socatAddress, untilPingAnswered } from "../../wireguard/hosts/probes.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { HostAgent } from "../hosts/host_agent.ts";

tunnelTest(
  "a peer resets a connection that was revoked, this side sends again → no answer gets in",
  async () => {
    await using mesh = await Mesh.create();
    const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
    // A second rule keeps both peers when the first rule ends.
    for (const target of [TCP_80, TCP_443]) await putRule({ from: alice, to: bob, ...target });
    await bringUp(alice, { firewall: "none" });
    // Otherwise the program would end the connection, and there would be nothing to answer.
    const environment = { PATH: await pathWithoutSs(bob.host.directory) };
    const meshAgent = await HostAgent.start(bob, { mesh, environment });
    await bob.host.run(["sysctl", "-qw", "net.netfilter.nf_conntrack_tcp_timeout_close=1"]);
    const sender = "SYSTEM:while sleep 0.1; do echo line; done";
    bob.host.start(["socat", "TCP-LISTEN:443", sender], { logName: "sender" });
    await untilListening(bob.host, TCP_443);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    const target = socatAddress({ ...TCP_443, address: bob.ipv4 });
    const receiver = alice.host.start(["socat", "-u", `${target},linger=0`, "-"], {
      logName: "received",
    });
    await eventually("the connection carries lines", {
      condition: async () => (await alice.host.readLog("received")).includes("line"),
    });

    await revokeRule({ from: alice, to: bob, ...TCP_443 });
    await meshAgent.untilApplied();
    const connections = ["ss", "-Htno", "state", "established", "sport", "=", ":443"];
    const isUnanswered = async (times: number) => {
      const [, retries] = /timer:\(on,[^)]*,(\d+)\)/.exec(await bob.host.run(connections)) ?? [];
      return Number(retries) >= times;
    };
    await eventually("bob gets no acknowledgement", {
      condition: () => isUnanswered(1),
    });
    // The socket is closed with linger 0. So the host sends an RST now, and one for everything that
    // bob sends later.
    receiver.kill("SIGKILL");
    await eventually("bob has sent after his connection tracking forgot the flow, or was reset", {
      condition: async () => await isUnanswered(5) || await bob.host.run(connections) === "",
    });
    assert.notEqual(await bob.host.run(connections), "", "alice's RST has reached bob's socket");
  },
);

/** The PATH of a host on which `ss` cannot end connections. */
async function pathWithoutSs(directory: string): Promise<string> {
  const folder = `${directory}/without-ss`;
  await Deno.mkdir(folder);
  await Deno.writeTextFile(`${folder}/ss`, "#!/bin/sh\nexit 1\n", { mode: 0o755 });
  return `${folder}:${Deno.env.get("PATH")}`;
}
