import assert from "node:assert/strict";
import { renderWgQuick } from "../../supabase/functions/agent-mesh/wireguard/wg_quick.ts";
import { succeed } from "../conformance/client.ts";
import { configurationOf, largeState } from "../unit/wireguard/inputs/states.ts";
import { eventually, run } from "../wireguard/hosts/run_program.ts";
import {
  type Member,
  Mesh,
  peerField,
  putRule,
  revokeRule,
  TCP_443,
  writeConfiguration,
} from "../wireguard/hosts/mesh_of_hosts.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";
import { referenceTest } from "./command_agent.ts";
import { EXAMPLES } from "./agent_settings.ts";
import { ReferenceAgent } from "./reference_agent.ts";

/** How many names the agent looks up at once. */
const AT_ONCE = 64;

referenceTest(
  "a peer is removed while its name is looked up, and the tunnel restarts → the peer stays away",
  async () => {
    await using mesh = await Mesh.create();
    const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
    const carol = await mesh.join("carol", { endpoint: "carol.example:51820" });
    for (const to of [alice, carol]) await putRule({ from: bob, to, ...TCP_443 });
    const meshAgent = await ReferenceAgent.start(bob, { mesh });
    await untilLookedUp(bob, "carol.example");

    meshAgent.pause();
    await revokeRule({ from: bob, to: carol, ...TCP_443 });
    // The key of a live tunnel cannot be changed, so the agent restarts the tunnel.
    const publicKey = await meshAgent.replacePrivateKey();
    meshAgent.resume();
    await meshAgent.untilRunsWith(publicKey);
    await meshAgent.untilApplied();
    assert.equal((await namesLookedUp(bob)).length, 0);
    assert.equal(await peerField(bob, { peer: carol, field: "endpoints" }), undefined);
  },
);

referenceTest(
  "a name that does not resolve → an address beside it is set without waiting",
  async () => {
    await using mesh = await Mesh.create();
    const alice = await mesh.join("alice", { endpoint: "198.51.100.250:51820" });
    const bob = await mesh.join("bob");
    const carol = await mesh.join("carol", { endpoint: "carol.example:51820" });
    for (const to of [alice, carol]) await putRule({ from: bob, to, ...TCP_443 });
    // Longer than an agent allows for the lookup of names.
    await bob.host.setResolverOptions("timeout:30 attempts:3");
    await ReferenceAgent.start(bob, { mesh });
    await untilLookedUp(bob, "carol.example");
    const elsewhere = ["peer", alice.publicKey, "endpoint", "198.51.100.251:51820"];
    await bob.host.run(["wg", "set", bob.interfaceName, ...elsewhere]);
    await eventually("alice's endpoint is the registered one", {
      condition: async () =>
        await peerField(bob, { peer: alice, field: "endpoints" }) === "198.51.100.250:51820",
    });
    assert.deepEqual(await namesLookedUp(bob), ["carol.example"]);
  },
);

tunnelTest(
  "wg-quick up with more slow names than it looks up at once → it begins with random ones",
  async () => {
    await using mesh = await Mesh.create();
    const alice = await mesh.join("alice");
    const { text, names } = slowNames(alice);
    await alice.host.run(["wg-quick", "up", await writeConfiguration(alice, text)]);
    await assertShuffled(alice, names);
  },
);

referenceTest(
  "an agent with more slow names than it looks up at once → it begins with random ones",
  async () => {
    await using mesh = await Mesh.create();
    const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
    const meshAgent = await ReferenceAgent.start(bob, { mesh });
    const { text, names } = slowNames(bob);
    // Refuse until the test has made its answer, so that the agent does not get the real one.
    meshAgent.door.failWith("/wg_config", () => new Response("", { status: 503 }));
    await putRule({ from: bob, to: alice, ...TCP_443 });
    const netmap = await succeed<{ config_version: number }>("/agent-mesh/netmap", {
      as: bob.agent,
    });
    meshAgent.door.failWith("/wg_config", () => Response.json({ ...netmap, config: text }));
    await meshAgent.untilApplied();
    await assertShuffled(bob, names);
  },
);

tunnelTest(
  "stop_lookups when another process has the number of the lookups → that process goes on",
  async () => {
    const check =
      'source "$0/tunnel.sh"; source "$0/endpoints.sh"; lookups=$1; if looks_up; then exit 3; fi; stop_lookups; [[ -z $lookups ]]';
    const other = new Deno.Command("sleep", { args: ["60"] }).spawn();
    try {
      await run([
        "env",
        "INTERFACE=none",
        "CONFIG_DIR=/nowhere",
        "RUN_DIR=/nowhere",
        "bash",
        "-euo",
        "pipefail",
        "-c",
        check,
        `${EXAMPLES}/mesh-agent/host`,
        `${other.pid}`,
      ]);
    } finally {
      other.kill("SIGKILL");
    }
    assert.equal((await other.status).signal, "SIGKILL");
  },
);

/** A configuration with three times AT_ONCE peers, whose names never resolve. */
function slowNames({ host, ipv4 }: Member): { text: string; names: string[] } {
  const state = largeState({ peers: 3 * AT_ONCE, rulesPerPeer: 0 });
  const text = renderWgQuick(configurationOf({
    ...state,
    addresses: [ipv4, state.addresses[1]!],
    peers: state.peers.map((peer, n) => ({
      ...peer,
      endpoint: `n${n}.example:51820`,
      // Far from the addresses that the stack has assigned so far: an agent refuses a peer with its
      // own address.
      addresses: [`10.213.255.${n}`, peer.addresses[1]!],
    })),
  }));
  const names = Array.from(text.matchAll(/^#endpoint .* (.*):51820$/gm), ([, name]) => name ?? "");
  return { text: text.replace("/etc/wireguard", host.directory), names };
}

async function assertShuffled(member: Member, names: readonly string[]): Promise<void> {
  let lookedUp: string[] = [];
  await eventually(`${AT_ONCE} names are being looked up`, {
    condition: async () => {
      lookedUp = await namesLookedUp(member);
      return lookedUp.length === AT_ONCE;
    },
  });
  const first = new Set(names.slice(0, AT_ONCE));
  const others = lookedUp.filter((name) => !first.has(name));
  // In random order, about two thirds of the names are others.
  assert.ok(others.length > AT_ONCE / 3, `only ${others.length} come later in the file`);
}

async function untilLookedUp(member: Member, name: string): Promise<void> {
  await eventually(`${name} is looked up`, {
    condition: async () => (await namesLookedUp(member)).includes(name),
  });
}

/** The names that the served hook or the agent is looking up now. */
async function namesLookedUp({ host }: Member): Promise<string[]> {
  const lines = (await host.processes()).matchAll(
    /^(?:\/bin\/sh .*set-endpoint\.sh|sh -c) .* ([a-z0-9]+\.example) /gm,
  );
  return [...new Set(Array.from(lines, ([, name]) => name ?? ""))];
}
