/** Peers whose packets leave over IPv6: the hosts have no outer IPv4 address. */
import { HostAgent } from "../mesh_up/hosts/host_agent.ts";
import { eventually } from "../wireguard/hosts/run_program.ts";
import { untilListening } from "../wireguard/hosts/host.ts";
import { Mesh } from "../wireguard/hosts/mesh_of_hosts.ts";
import { untilPingAnswered } from "../wireguard/hosts/probes.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";
import { ServiceDoor } from "../wireguard/hosts/service_door.ts";
import { createAgent } from "../conformance/client.ts";
import type { Runtime } from "./hosts/programs.ts";
import { allow, Sandbox, serveDigests } from "./hosts/sandbox.ts";
import { SitesMesh } from "./hosts/sites_mesh.ts";

const IPV6_ENDPOINT = /^\[2001:db8:64:[0-9a-f]+::2\]:\d+$/;

/**
 * Waits until the sandbox reports that it reaches its only peer directly over IPv6. The report may
 * be a second old.
 */
async function untilDirect(sandbox: Sandbox): Promise<void> {
  await eventually(`${sandbox.name} reaches its peer directly, by IPv6`, {
    condition: async () => {
      const [peer] = await sandbox.peers();
      return peer?.path === "direct" && IPV6_ENDPOINT.test(peer.endpoint ?? "");
    },
  });
}

for (const runtime of ["node", "deno"] as const satisfies Runtime[]) {
  tunnelTest(
    `a sandbox under ${runtime} ↔ a kernel's host, both with IPv6 alone → every byte, in both directions`,
    async () => {
      await using mesh = await Mesh.create();
      const host = await mesh.internet.addIpv6Host("sandbox");
      mesh.attach(await ServiceDoor.open(host));
      const agent = await createAgent("sandbox");
      const sandbox = await Sandbox.start(mesh, { host, agent, runtime });
      const builder = await mesh.join("builder", {
        at: await mesh.internet.addIpv6Host("builder"),
      });
      await allow({ from: sandbox, to: builder, port: 443 });
      await HostAgent.start(builder, { mesh });
      serveDigests(builder, 443);
      await untilListening(builder.host, { proto: "tcp", port: 443 });
      await untilPingAnswered(builder.host, { address: sandbox.ipv4 });
      for (const address of [builder.ipv4, builder.ipv6]) {
        await sandbox.sends({ host: address, port: 443 }, 500_000);
      }
      await untilDirect(sandbox);
    },
  );
}

tunnelTest(
  "two sandboxes behind IPv6 firewalls that let in what was asked for, without any server → direct",
  async () => {
    await using sites = await SitesMesh.create({ hasRelay: false });
    const left = await sites.join("left", { site: "IPv6 firewall" });
    const right = await sites.join("right", { site: "IPv6 firewall", runtime: "deno" });
    await right.tell({ do: "listen", port: 443 });
    await allow({ from: left, to: right, port: 443 });
    const seconds = await left.secondsUntilAnswered(right, 443);
    console.log(`the first byte after ${seconds.toFixed(1)} s`);
    await left.sends({ host: right.name, port: 443 }, 500_000);
    await untilDirect(left);
  },
);

tunnelTest(
  "a sandbox with IPv6 alone, and one with IPv4 alone, without a relay → both say that this is why",
  async () => {
    await using sites = await SitesMesh.create({ hasRelay: false });
    const left = await sites.join("left", { site: "IPv6" });
    const right = await sites.join("right", { site: "none" });
    const began = performance.now();
    await allow({ from: left, to: right, port: 443 });
    for (const [one, other] of [[left, right], [right, left]] as const) {
      await eventually(`${one.name} says why it does not reach ${other.name}`, {
        condition: async () =>
          /^no common IP version/.test(
            (await one.peers()).find(({ agentId }) => agentId === other.agent.id)?.reason ?? "",
          ),
      });
    }
    console.log(`after ${((performance.now() - began) / 1000).toFixed(1)} s`);
  },
);
