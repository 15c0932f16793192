import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { succeed } from "../../conformance/client.ts";
import { eventually } from "../../wireguard/hosts/run_program.ts";
import { firstTwoNumbers, type Member, Mesh } from "../../wireguard/hosts/mesh_of_hosts.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { HostAgent } from "../hosts/host_agent.ts";

/** More peers than one call of `wg set` can take. */
const MANY = 250;

interface Peer {
  readonly public_key: string;
  readonly preshared_key: string;
  readonly allowed_ips: readonly string[];
}

tunnelTest(`${MANY} peers, then others, then none → each time, the tunnel has these`, async () => {
  await using mesh = await Mesh.create();
  const bob = await mesh.join("bob");
  const meshAgent = await HostAgent.start(bob, { mesh });
  const own = await succeed<{ config_version: number }>(
    "/agent-mesh/wg_config",
    { as: bob.agent, body: { format: "json" } },
  );
  let version = own.config_version;
  for (const [from, count] of [[0, MANY], [1000, MANY], [0, 0]] as const) {
    version++;
    const peers = Array.from({ length: count }, (_, at) => peerAt(from + at, bob));
    meshAgent.door.replaceAnswers({
      "/wait": { config_version: version, heartbeat_interval_seconds: 1 },
      "/wg_config": { ...own, config_version: version, peers, rules: [] },
    });
    await eventually(`the version ${version} is applied`, {
      condition: async () =>
        (await meshAgent.readLog()).includes(`config_version ${version} is applied`),
    });
    assert.deepEqual(await peersOf(bob), lines(peers));
    const routes = await bob.host.run(["ip", "route", "show", "dev", bob.interfaceName]);
    assert.equal(routes.split("\n").filter((line) => line !== "").length, count);
  }
});

function peerAt(index: number, { ipv4, ipv6 }: Member): Peer & Record<string, unknown> {
  const [network] = ipv6.split("::");
  const name = `peer-${index}`;
  return {
    agent_id: name,
    name,
    public_key: createHash("sha256").update(name).digest("base64"),
    preshared_key: createHash("sha256").update(randomUUID()).digest("base64"),
    allowed_ips: [
      `${firstTwoNumbers(ipv4)}.${200 + (index >> 8)}.${index & 255}/32`,
      `${network}::f:${(index + 1).toString(16)}/128`,
    ],
    endpoints: [],
    observed_endpoint: null,
    persistent_keepalive: 25,
  };
}

/** Each peer of the tunnel: its public key, PSK, addresses and keepalive. */
async function peersOf({ host, interfaceName }: Member): Promise<string[]> {
  const [, ...dump] = (await host.run(["wg", "show", interfaceName, "dump"])).trimEnd().split("\n");
  return dump.map((line) => {
    const [publicKey, psk, , addresses = "", , , , keepalive] = line.split("\t");
    return [publicKey, psk, ...addresses.split(",").toSorted(), keepalive].join(" ");
  }).toSorted();
}

function lines(peers: readonly Peer[]): string[] {
  return peers.map(({ public_key, preshared_key, allowed_ips }) =>
    [public_key, preshared_key, ...allowed_ips.toSorted(), "25"].join(" ")
  ).toSorted();
}
