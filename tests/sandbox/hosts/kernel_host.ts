import { HostAgent } from "../../mesh_up/hosts/host_agent.ts";
import { untilListening } from "../../wireguard/hosts/host.ts";
import type { Mesh } from "../../wireguard/hosts/mesh_of_hosts.ts";
import type { Runtime } from "./programs.ts";
import { allow, Sandbox, serveDigests } from "./sandbox.ts";

/** A sandbox, and a kernel host. The sandbox may reach port 443 of the host. */
export async function joinedPair(mesh: Mesh, { runtime = "deno" }: { runtime?: Runtime } = {}) {
  const builder = await mesh.join("builder");
  const sandbox = await Sandbox.join(mesh, { name: "sandbox", runtime });
  await allow({ from: sandbox, to: builder, port: 443 });
  await HostAgent.start(builder, { mesh });
  serveDigests(builder, 443);
  await untilListening(builder.host, { proto: "tcp", port: 443 });
  return { builder, sandbox };
}
