import assert from "node:assert/strict";
import { succeed } from "../conformance/client.ts";
import { configurationOf, largeState } from "../unit/wireguard/states.ts";
import { renderWgQuick } from "../../supabase/functions/_shared/wireguard/wg_quick.ts";
import { eventually, run } from "./command.ts";
import { ExampleAgent, SCRIPT } from "./example_agent.ts";
import {
  type Member,
  Mesh,
  peerField,
  putRule,
  revokeRule,
  writeConfiguration,
} from "./mesh_of_hosts.ts";
import { tunnelTest } from "./requirements.ts";

const RULE = { proto: "tcp", port: 443 } as const;
/** As many names as are looked up at once. */
const AT_ONCE = 64;

tunnelTest(
  "a peer is removed while its name is looked up, the tunnel is replaced → it stays away",
  async () => {
    await using mesh = await Mesh.create();
    const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
    const carol = await mesh.join("carol", { endpoint: "carol.example:51820" });
    for (const to of [alice, carol]) await putRule({ from: bob, to, ...RULE });
    const example = await ExampleAgent.start(bob, { mesh });
    await untilLookedUp(bob, "carol.example");

    // Another key too, which cannot be changed under a live tunnel.
    example.pause();
    await revokeRule({ from: bob, to: carol, ...RULE });
    const key = await bob.host.run(["wg", "genkey"]);
    await Deno.writeTextFile(`${bob.host.directory}/${bob.interfaceName}.key`, key);
    example.resume();
    const publicKey = await run(["wg", "pubkey"], { input: key });
    await eventually("bob runs with the new key", {
      withinSeconds: 20,
      condition: async () => {
        const shown = ["wg", "show", bob.interfaceName, "public-key"];
        return (await bob.host.runAnyhow(shown)).output === publicKey;
      },
    });
    await example.untilApplied();
    assert.equal((await namesLookedUp(bob)).length, 0);
    assert.equal(await peerField(bob, { peer: carol, field: "endpoints" }), undefined);
  },
);

tunnelTest("a name that does not resolve → an address beside it does not wait", async () => {
  await using mesh = await Mesh.create();
  const alice = await mesh.join("alice", { endpoint: "198.51.100.250:51820" });
  const bob = await mesh.join("bob");
  const carol = await mesh.join("carol", { endpoint: "carol.example:51820" });
  for (const to of [alice, carol]) await putRule({ from: bob, to, ...RULE });
  await ExampleAgent.start(bob, { mesh });
  await untilLookedUp(bob, "carol.example");
  const elsewhere = ["peer", alice.publicKey, "endpoint", "198.51.100.251:51820"];
  await bob.host.run(["wg", "set", bob.interfaceName, ...elsewhere]);
  await eventually("alice's endpoint is the registered one", {
    withinSeconds: 15,
    condition: async () =>
      await peerField(bob, { peer: alice, field: "endpoints" }) === "198.51.100.250:51820",
  });
  assert.deepEqual(await namesLookedUp(bob), ["carol.example"]);
});

tunnelTest(
  "wg-quick up with more slow names than are looked up at once → not the first of the file",
  async () => {
    await using mesh = await Mesh.create();
    const alice = await mesh.join("alice");
    const { text, names } = slowNames(alice);
    await alice.host.run(["wg-quick", "up", await writeConfiguration(alice, text)]);
    await assertShuffled(alice, names);
  },
);

tunnelTest(
  "an agent with more slow names than are looked up at once → not the first of the file",
  async () => {
    await using mesh = await Mesh.create();
    const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
    const example = await ExampleAgent.start(bob, { mesh });
    const { text, names } = slowNames(bob);
    await putRule({ from: bob, to: alice, ...RULE });
    const netmap = await succeed<{ config_version: number }>("/agent-mesh/netmap", {
      as: bob.agent,
    });
    example.door.failWith("/wg_config", () => Response.json({ ...netmap, config: text }));
    await example.untilApplied();
    await assertShuffled(bob, names);
  },
);

tunnelTest(
  "the lookups have ended, another process has their number → it is neither ended nor waited for",
  async () => {
    const script = await Deno.readTextFile(SCRIPT);
    const functions = ["looks_up", "stop_lookups"].map((name) =>
      new RegExp(`^${name}\\(\\) \\{\\n.*?^\\}$`, "ms").exec(script)?.[0]
    );
    const check = "if looks_up; then exit 3; fi; stop_lookups; [[ -z $lookups ]]";
    const other = new Deno.Command("sleep", { args: ["60"] }).spawn();
    try {
      await run(["bash", "-euo", "pipefail", "-c", [...functions, "lookups=$0", check].join("\n")]
        .concat(`${other.pid}`));
    } finally {
      other.kill("SIGKILL");
    }
    assert.equal((await other.status).signal, "SIGKILL");
  },
);

/** A configuration with three times as many peers; none of their names resolves. */
function slowNames({ host, ipv4, ipv6 }: Member): { text: string; names: string[] } {
  const state = largeState({ peers: 3 * AT_ONCE, rulesPerPeer: 0 });
  const text = renderWgQuick(configurationOf({
    ...state,
    addresses: [ipv4, ipv6],
    peers: state.peers.map((peer, n) => ({ ...peer, endpoint: `n${n}.example:51820` })),
  }));
  const names = Array.from(text.matchAll(/^#endpoint .* (.*):51820$/gm), ([, name]) => name ?? "");
  return { text: text.replace("/etc/wireguard", host.directory), names };
}

async function assertShuffled(member: Member, names: readonly string[]): Promise<void> {
  await eventually("as many names are looked up as are at once", {
    withinSeconds: 10,
    condition: async () => (await namesLookedUp(member)).length === AT_ONCE,
  });
  const first = new Set(names.slice(0, AT_ONCE));
  const others = (await namesLookedUp(member)).filter((name) => !first.has(name));
  // By chance it would be about two thirds of them.
  assert.ok(others.length > AT_ONCE / 3, `only ${others.length} come later in the file`);
}

async function untilLookedUp(member: Member, name: string): Promise<void> {
  await eventually(`${name} is looked up`, {
    withinSeconds: 10,
    condition: async () => (await namesLookedUp(member)).includes(name),
  });
}

/** By the hook that is served, or by the agent. */
async function namesLookedUp({ host }: Member): Promise<string[]> {
  const lines = (await host.processes()).matchAll(
    /^(?:wg set .* endpoint |sh -c .* )([a-z0-9]+\.example)[: ]/gm,
  );
  return [...new Set(Array.from(lines, ([, name]) => name ?? ""))];
}
