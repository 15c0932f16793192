import assert from "node:assert/strict";
import { type Agent, createAgent, operatorRpc, post } from "../conformance/client.ts";
import type { Host } from "./host.ts";
import { Internet } from "./internet.ts";
import { tunnelTest } from "./requirements.ts";
import { SERVICE_ORIGIN, ServiceDoor } from "./service_door.ts";

const README = new URL("../../README.md", import.meta.url);

/** A reader of the README at one of its two hosts, and what stands there in place of its names. */
interface Reader {
  readonly host: Host;
  readonly agent: Agent;
  /** In place of mesh0, because namespaces share /run/wireguard. */
  readonly interfaceName: string;
}

/** The `sh` blocks of "Connect two agents", without those of its subsections. */
async function transcript(): Promise<string[]> {
  const section = (await Deno.readTextFile(README)).split("## Connect two agents\n")[1]!
    .split("\n### ")[0]!;
  return Array.from(section.matchAll(/```sh\n(.*?)```/gs), ([, block]) => block!);
}

tunnelTest(
  "README, Connect two agents: pasted as it stands, beta behind NAT pings alpha",
  async () => {
    const [onAlpha, onBeta, alphaUp, ping] = await transcript() as [string, string, string, string];
    const definitions = onAlpha.split("\n").slice(0, 2).join("\n");
    await using internet = await Internet.create();
    const [alpha, beta] = [
      await readerOn(await internet.addHost("alpha"), "alpha"),
      await readerOn(await internet.addHostBehindNat("beta"), "beta"),
    ];
    await beta.host.resolve("alpha.example.com", alpha.host.address!);
    await using _alphaDoor = await ServiceDoor.open(alpha.host);
    await using _betaDoor = await ServiceDoor.open(beta.host);
    try {
      const paste = (reader: Reader, block: string) =>
        pasteOn(reader, { block, agents: { alpha, beta } });
      const registered = await paste(alpha, onAlpha);
      const [address] = JSON.parse(registered.slice(0, registered.indexOf("}") + 1)).addresses;
      await paste(beta, `${definitions}\n${onBeta}`);
      await paste(alpha, `${definitions}\n${alphaUp}`);
      // In a mesh that already has peers, alpha's address is another one.
      assert.match(ping, /10\.213\.0\.1\n/);
      const answered = await paste(beta, ping.replace("-c 3 10.213.0.1", `-c 3 -w 30 ${address}`));
      assert.match(answered, /[1-9] received/);
    } finally {
      for (const { agent, interfaceName, host } of [alpha, beta]) {
        await host.runAnyhow(["wg-quick", "down", interfaceName]);
        await post("/agent-mesh/peer/remove", { as: "operator", body: { agent_id: agent.id } });
        await operatorRpc("revoke_agent_keys", { agent_id: agent.id });
      }
    }
  },
);

async function readerOn(host: Host, name: string): Promise<Reader> {
  return { host, agent: await createAgent(name), interfaceName: host.namespace.slice(0, 14) };
}

async function pasteOn(
  { host, agent, interfaceName }: Reader,
  { block, agents }: { block: string; agents: Record<string, Reader> },
): Promise<string> {
  let script = block
    .replace("https://<ref>.supabase.co", SERVICE_ORIGIN)
    .replace("ak_…", agent.key)
    .replaceAll("mesh0", interfaceName);
  for (const [name, reader] of Object.entries(agents)) {
    script = script.replaceAll(`"${name}"`, `"${reader.agent.id}"`);
  }
  const { success, output, errors } = await host.runAnyhow([
    "bash",
    "-e",
    "-o",
    "pipefail",
    "-c",
    script,
  ]);
  assert.equal(success, true, `${block}\n${output}\n${errors}`);
  assert.equal(output.includes('"error"'), false, output);
  return output;
}
