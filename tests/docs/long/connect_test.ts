import assert from "node:assert/strict";
import { type Agent, createAgent, operatorRpc, post } from "../../conformance/client.ts";
import type { Host } from "../../wireguard/hosts/host.ts";
import { Internet } from "../../wireguard/hosts/internet.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { SERVICE_ORIGIN, ServiceDoor } from "../../wireguard/hosts/service_door.ts";
import { PROJECT } from "../../../packages/local/project.ts";
import { documentedBlock } from "../blocks/documentation.ts";
import { Terminal } from "../blocks/terminal.ts";

/** A reader of the README on one of its two hosts. */
interface Reader {
  readonly host: Host;
  readonly agent: Agent;
  readonly terminal: Terminal;
}

tunnelTest("README, Connect two agents → beta behind NAT pings alpha", async () => {
  await using internet = await Internet.create();
  const alphaHost = await internet.addHost("alpha");
  const betaHost = await internet.addHostBehindNat("beta");
  await betaHost.resolve("alpha.example.com", alphaHost.address!);
  await using _alphaDoor = await ServiceDoor.open(alphaHost);
  await using _betaDoor = await ServiceDoor.open(betaHost);
  await using alphaTerminal = await openTerminal(alphaHost);
  await using betaTerminal = await openTerminal(betaHost);
  const alpha = { host: alphaHost, agent: await createAgent("alpha"), terminal: alphaTerminal };
  const beta = { host: betaHost, agent: await createAgent("beta"), terminal: betaTerminal };

  // Replaces agents and interfaces by this test's: `mesh0` would be the same in all namespaces.
  const paste = async (reader: Reader, block: string, typed = "") => {
    let text = block.replaceAll("https://<ref>.supabase.co", SERVICE_ORIGIN)
      .replaceAll("mesh0", interfaceOf(reader.host));
    for (const [name, { agent }] of Object.entries({ alpha, beta })) {
      text = text.replaceAll(`"${name}"`, `"${agent.id}"`);
    }
    const printed = await reader.terminal.paste(text, { typed });
    assert.equal(printed.includes('"error"'), false, printed);
    return printed;
  };

  try {
    const begin = await documentedBlock("README.md, Connect two agents, 1");
    for (const reader of [alpha, beta]) await paste(reader, begin, `${reader.agent.key}\n`);
    await paste(alpha, await documentedBlock("README.md, Connect two agents, 2"));
    const agreed = await paste(beta, await documentedBlock("README.md, Connect two agents, 3"));
    assert.match(agreed, /"active" ?: ?true\b/);
    const up = await documentedBlock("README.md, Connect two agents, 4");
    for (const reader of [beta, alpha]) await paste(reader, up);
    // Ping longer than the README, because the first handshake may be sent before the peer is up.
    const ping = (await documentedBlock("README.md, Connect two agents, 5"))
      .replace("ping -c 3 ", "ping -c 3 -w 30 ");
    assert.match(await paste(beta, ping), /[1-9] received/);
  } finally {
    for (const { agent, host } of [alpha, beta]) {
      await host.runAnyhow(["wg-quick", "down", interfaceOf(host)]);
      await post("/agent-mesh/peer/remove", { as: "operator", body: { agent_id: agent.id } });
      await operatorRpc("revoke_agent_keys", { agent_id: agent.id });
    }
  }
});

function openTerminal(host: Host): Promise<Terminal> {
  return Terminal.open({ folder: PROJECT, through: host.enter });
}

function interfaceOf(host: Host): string {
  return host.namespace.slice(0, 14);
}
