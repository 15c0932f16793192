import assert from "node:assert/strict";
import { eventually } from "./command.ts";
import { ExampleAgent } from "./example_agent.ts";
import { untilListening } from "./host.ts";
import { bringUp, Mesh, putRule, revokeRule } from "./mesh_of_hosts.ts";
import { socatAddress, untilPingAnswered } from "./probes.ts";
import { tunnelTest } from "./requirements.ts";

const TCP_443 = { proto: "tcp", port: 443 } as const;
const TCP_80 = { proto: "tcp", port: 80 } as const;

tunnelTest(
  "a peer resets a revoked connection, the other side sends again → no answer passes",
  async () => {
    await using mesh = await Mesh.create();
    const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
    // A second rule, so that the two stay peers and only the first rule ends.
    for (const target of [TCP_80, TCP_443]) await putRule({ from: alice, to: bob, ...target });
    await bringUp(alice, { firewall: "none" });
    const agent = await ExampleAgent.start(bob, { mesh });
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
      withinSeconds: 10,
      condition: async () => (await alice.host.readLog("received")).includes("line"),
    });

    await revokeRule({ from: alice, to: bob, ...TCP_443 });
    await agent.untilApplied();
    const connections = ["ss", "-Htno", "state", "established", "sport", "=", ":443"];
    const isUnanswered = async (times: number) => {
      const [, retries] = /timer:\(on,[^)]*,(\d+)\)/.exec(await bob.host.run(connections)) ?? [];
      return Number(retries) >= times;
    };
    await eventually("bob gets no acknowledgement", {
      withinSeconds: 10,
      condition: () => isUnanswered(1),
    });
    // Closed with linger 0: an RST now, and one more for whatever bob sends later.
    receiver.kill("SIGKILL");
    await eventually("bob sends after his connection tracking forgot the flow, or is reset", {
      withinSeconds: 40,
      condition: async () => await isUnanswered(5) || await bob.host.run(connections) === "",
    });
    assert.notEqual(await bob.host.run(connections), "", "alice's RST has reached bob's socket");
  },
);
