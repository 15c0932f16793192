/** Names of peers that do not resolve: nobody else waits for them. */
import assert from "node:assert/strict";
import { renderJson } from "../../../supabase/functions/agent-mesh/json_configuration.ts";
import { succeed } from "../../conformance/client.ts";
import { configurationOf, largeState } from "../../unit/wireguard/inputs/states.ts";
import { eventually } from "../../wireguard/hosts/run_program.ts";
import type { Host } from "../../wireguard/hosts/host.ts";
import {
  firstTwoNumbers,
  Mesh,
  peerField,
  putRule,
  TCP_443,
} from "../../wireguard/hosts/mesh_of_hosts.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { HostAgent } from "../hosts/host_agent.ts";

/** How many names the agent looks up at once. */
const AT_ONCE = 64;
/** The name server of every host of a test. */
const NAME_SERVER = "192.0.2.53";

tunnelTest(
  "a name that does not resolve → an address beside it is set without waiting",
  async () => {
    await using mesh = await Mesh.create();
    const alice = await mesh.join("alice", { endpoint: "198.51.100.250:51820" });
    const bob = await mesh.join("bob");
    const carol = await mesh.join("carol", { endpoint: "carol.example:51820" });
    await startSilentNameServer(bob.host);
    for (const to of [alice, carol]) await putRule({ from: bob, to, ...TCP_443 });
    await HostAgent.start(bob, { mesh });
    await eventually("carol's name is looked up", {
      condition: async () => (await namesAsked(bob.host)).includes("carol"),
    });
    const elsewhere = ["peer", alice.publicKey, "endpoint", "198.51.100.251:51820"];
    await bob.host.run(["wg", "set", bob.interfaceName, ...elsewhere]);
    await eventually("alice's endpoint is the registered one", {
      condition: async () =>
        await peerField(bob, { peer: alice, field: "endpoints" }) === "198.51.100.250:51820",
    });
    assert.equal(await peerField(bob, { peer: carol, field: "endpoints" }), "(none)");
  },
);

tunnelTest(
  "more slow names than it looks up at once → after a second, random ones are looked up",
  async () => {
    await using mesh = await Mesh.create();
    const bob = await mesh.join("bob");
    await startSilentNameServer(bob.host);
    const meshAgent = await HostAgent.start(bob, { mesh });
    const own = await succeed<{ config_version: number; interface: object }>(
      "/agent-mesh/wg_config",
      { as: bob.agent, body: { format: "json" } },
    );
    const state = largeState({ peers: 3 * AT_ONCE, rulesPerPeer: 0 });
    const { peers } = renderJson(
      configurationOf({
        ...state,
        peers: state.peers.map((peer, n) => ({
          ...peer,
          endpoint: `n${n}.example:51820`,
        })),
      }),
      { relay: false, reportRefused: false },
    );
    const version = own.config_version + 1;
    const [network] = bob.ipv6.split("::");
    const ipv4Network = firstTwoNumbers(bob.ipv4);
    meshAgent.door.replaceAnswers({
      "/wait": { config_version: version, heartbeat_interval_seconds: 1 },
      "/wg_config": {
        ...own,
        config_version: version,
        peers: peers.map((peer, n) => ({
          ...peer,
          allowed_ips: [`${ipv4Network}.255.${n}/32`, `${network}::f:${(n + 1).toString(16)}/128`],
        })),
      },
    });
    await eventually("others than the first are looked up", {
      condition: async () => (await namesAsked(bob.host)).length >= 1.4 * AT_ONCE,
    });
    const later = (await namesAsked(bob.host)).slice(AT_ONCE, 1.4 * AT_ONCE)
      .map((name) => Number(name.slice(1)));
    // In the file's order, all of these would be below 2 × AT_ONCE.
    assert.ok(later.some((n) => n >= 2 * AT_ONCE), `${later}`);
  },
);

/** A name server that answers nothing, and keeps the queries. */
async function startSilentNameServer(host: Host): Promise<void> {
  await host.run(["ip", "address", "add", `${NAME_SERVER}/32`, "dev", "lo"]);
  const command = ["socat", "-u", `UDP-RECV:53,bind=${NAME_SERVER}`, "STDOUT"];
  host.start(command, { logName: "queries" });
  await eventually("the name server listens", {
    condition: async () => (await host.run(["ss", "-Hlnu"])).includes(`${NAME_SERVER}:53`),
  });
}

/** The first labels of the names that were asked for, in the order of their first query. */
async function namesAsked(host: Host): Promise<string[]> {
  // In a query, a byte with its length is before each label.
  const queries = (await host.readLog("queries")).matchAll(/([a-z0-9]+)[^a-z0-9]example/g);
  return [...new Set(Array.from(queries, ([, name]) => name ?? ""))];
}
