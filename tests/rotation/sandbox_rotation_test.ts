import assert from "node:assert/strict";
import { succeed } from "../conformance/client.ts";
import { joinedPair } from "../sandbox/hosts/kernel_host.ts";
import type { Sent } from "../sandbox/hosts/sandbox_protocol.ts";
import { eventually } from "../wireguard/hosts/run_program.ts";
import { Mesh } from "../wireguard/hosts/mesh_of_hosts.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";
import { SESSION_LIFE_SECONDS } from "./pair.ts";

tunnelTest(
  "/psk/rotate of a sandbox and a kernel's host while bytes flow → the next session has the new PSK, every byte arrives",
  async () => {
    await using mesh = await Mesh.create();
    const { builder, sandbox } = await joinedPair(mesh, { runtime: "node" });
    /** A field of the only peer that the kernel has. */
    async function field(name: string): Promise<string> {
      const line = await builder.host.run(["wg", "show", builder.interfaceName, name]);
      return line.trim().split("\t")[1] ?? "";
    }
    const to = { host: builder.ipv4, port: 443 };
    await sandbox.sends(to, 1000);
    const [oldPsk, oldHandshake] = [
      await field("preshared-keys"),
      await field("latest-handshakes"),
    ];
    await sandbox.tell({ do: "startTransfer", ...to, everyMs: 200 });
    await succeed("/agent-mesh/psk/rotate", {
      as: "operator",
      body: { a: sandbox.agent.id, b: builder.agent.id },
    });
    await eventually("the kernel has the new PSK", {
      condition: async () => await field("preshared-keys") !== oldPsk,
    });
    await eventually("a new session began", {
      withinSeconds: SESSION_LIFE_SECONDS,
      condition: async () => await field("latest-handshakes") > oldHandshake,
    });
    const { sent, received } = await sandbox.tell<Sent>({ do: "endTransfer" });
    assert.equal(received.trim(), `${sent}  -`);
  },
);
