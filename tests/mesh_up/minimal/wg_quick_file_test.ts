/** What wg-quick.jq makes of a served configuration: only its data, and only its own lines. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { renderJson } from "../../../supabase/functions/agent-mesh/json_configuration.ts";
import { renderRuleset } from "../../../supabase/functions/agent-mesh/wireguard/nftables.ts";
import { renderWgQuick } from "../../../supabase/functions/agent-mesh/wireguard/wg_quick.ts";
import { meshStates } from "../../unit/wireguard/inputs/mesh_states.ts";
import {
  aliceState,
  configurationOf,
  largeState,
  peerState,
} from "../../unit/wireguard/inputs/states.ts";
import { wgQuickFile } from "./wg_quick_file.ts";

/** An answer of /wg_config, which a test changes. */
// deno-lint-ignore no-explicit-any -- A test sets fields to values that no type allows.
type Answer = any;

const ALICE = aliceState({
  peers: [
    peerState(2, { endpoint: "203.0.113.2:51820", inbound_rules: [{ proto: "tcp", port: 22 }] }),
    peerState(3, { endpoint: "vpn.example.com:51820" }),
  ],
});

function served(state = ALICE): Answer {
  const rendered = renderJson(configurationOf(state), { relay: false, reportRefused: false });
  return structuredClone({ config_version: 7, ...rendered });
}

/**
 * What is left out: hooks, comments, routes, and IPv6 endpoints that may have an IPv4 one in them
 * or may be in the mesh, as every unique local one.
 */
const NO_SETTING = /^(?:#|Post|Table|Endpoint = \[(?:::|f[c-f][0-9a-f]{2}:)|$)/;

/** The settings of a file for wg-quick. */
function settings(text: string): string[] {
  return text.split("\n").filter((line) => !NO_SETTING.test(line)).toSorted();
}

/** The words of a ruleset, however it is broken into lines. */
function words(ruleset: string): string[] {
  return ruleset.replaceAll(/[;,]/g, " ").split(/\s+/).filter((word) => word !== "").toSorted();
}

/** The ruleset in the file, with the values that the hook fills in. */
function rulesetIn(text: string): string {
  const [, ruleset = ""] = /^PostUp = .* nft -f - <<< "(.*)"$/m.exec(text) ?? [];
  return ruleset.replaceAll('\\"', '"').replaceAll("$t", "<table>").replaceAll("$i", "<interface>")
    .replaceAll("$p", "<port>");
}

Deno.test("any configuration that the service renders → the data and the firewall of its own file for wg-quick", async () => {
  await fc.assert(
    fc.asyncProperty(meshStates, async (state) => {
      // No agent is its own peer.
      fc.pre(state.peers.every(({ agent_id }) => agent_id !== state.agent_id));
      const { success, output, errors } = await wgQuickFile(served(state));
      assert.deepEqual([success, errors], [true, ""]);
      const configuration = configurationOf(state);
      assert.deepEqual(settings(output), settings(renderWgQuick(configuration)));
      assert.deepEqual(words(rulesetIn(output)), words(renderRuleset(configuration).join("\n")));
    }),
    { numRuns: 40, endOnFailure: true },
  );
});

Deno.test("a thousand peers with five rules each → all of them", async () => {
  const { output } = await wgQuickFile(served(largeState({ peers: 1000, rulesPerPeer: 5 })));
  assert.equal(output.match(/^PublicKey = /gm)?.length, 1000);
  assert.equal(output.match(/10\.\d+\.\d+\.\d+ \. (?:tcp|udp) \. \d+/g)?.length, 5000);
});

Deno.test("fields that it does not know → ignored", async () => {
  const answer = served();
  answer.hooks = ["touch /tmp/x"];
  answer.peers[0].post_up = "touch /tmp/x";
  answer.interface.table = "auto";
  assert.deepEqual(await wgQuickFile(answer), await wgQuickFile(served()));
});

const REFUSED: Record<string, (answer: Answer) => void> = {
  "no interface": (answer) => delete answer.interface,
  "no peers": (answer) => delete answer.peers,
  "a port as text": (answer) => answer.interface.listen_port = "51820",
  "an MTU with a fraction": (answer) => answer.interface.mtu = 1280.5,
  "a peer that is text": (answer) => answer.peers[0] = "x",
  "a PSK with a line break": (answer) => answer.peers[0].preshared_key += "\n",
  "an address outside of the mesh": (answer) => answer.peers[0].allowed_ips[0] = "10.214.0.2/32",
  "a network": (answer) => answer.peers[0].allowed_ips[0] = "10.213.0.0/24",
  "everything": (answer) => answer.peers[0].allowed_ips = ["0.0.0.0/0", "::/0"],
  "an address that is no unique local one": (answer) =>
    answer.peers[0].allowed_ips[1] = "2001:db8::2/128",
  "an endpoint with a command": (answer) => answer.peers[0].endpoints = ["$(id):51820"],
  "an endpoint with an option": (answer) => answer.peers[0].endpoints = ["-h:1"],
  "an endpoint with a line break": (answer) => answer.peers[0].endpoints = ["a.example:1\nb"],
  "an endpoint in hex": (answer) => answer.peers[0].endpoints = ["0x7f.0x1:51820"],
  "an endpoint with three numbers": (answer) => answer.peers[0].endpoints = ["127.0.1:51820"],
  "a rule for another protocol": (answer) => answer.rules[0].proto = "sctp",
  "a rule for a command": (answer) => answer.rules[0].port = "1 }; x",
  "a mesh of loopback addresses": (answer) => answer.interface.addresses[0] = "127.1.2.3/24",
  "a mesh around link-local addresses": (answer) => answer.interface.addresses[0] = "169.1.2.3/8",
  "a mesh of half of all addresses": (answer) => answer.interface.addresses[0] = "10.213.0.1/1",
  "a mesh of global addresses": (answer) => answer.interface.addresses[1] = "2001:db8::1/64",
};

for (const [what, change] of Object.entries(REFUSED)) {
  Deno.test(`wg-quick.jq: ${what} → refused, nothing is printed, and no key is shown`, async () => {
    const answer = served();
    change(answer);
    const { success, output, errors } = await wgQuickFile(answer);
    assert.deepEqual([success, output], [false, ""]);
    assert.doesNotMatch(errors, /[A-Za-z0-9+/]{40}/);
  });
}

const FRAGMENTS = [
  "\n",
  "\r\n",
  ";",
  "$(",
  "`",
  "'",
  '"',
  "\\",
  "}",
  "%i",
  "#",
  " ",
  "]\nPostUp = ",
];

Deno.test("a hostile text in any place of an answer → refused, or nothing of it is in the file", async () => {
  const places = leaves(served());
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...places),
      fc.constantFrom(...FRAGMENTS),
      fc.nat(60),
      async (place, fragment, at) => {
        const answer = served();
        const last = place.at(-1)!;
        const parent = place.slice(0, -1).reduce((value, name) => value[name], answer);
        const text = String(parent[last]);
        parent[last] = `${text.slice(0, at)}${fragment}HOSTILE${text.slice(at)}`;
        const { success, output } = await wgQuickFile(answer);
        assert.ok(!output.includes("HOSTILE"), output);
        if (!success) assert.equal(output, "");
      },
    ),
    { numRuns: 100, endOnFailure: true },
  );
});

Deno.test("endpoints that lead back to the host or into the mesh → the peer has none", async () => {
  const other = "203.0.113.2:51820";
  const { output } = await wgQuickFile(served());
  assert.ok(output.includes(`Endpoint = ${other}\n`));
  for (
    const host of [
      "127.0.0.1",
      "0.0.0.0",
      "10.213.0.2",
      "169.254.1.1",
      "224.0.0.1",
      "255.255.255.255",
      "[::1]",
      "[::ffff:ad5:2]",
      "[64:ff9b::ad5:2]",
      "[fe80::1]",
      "[ff02::1]",
      "[fd12:3456:789a:1::2]",
    ]
  ) {
    const answer = served();
    answer.peers[0].endpoints = [`${host}:51820`];
    const made = await wgQuickFile(answer);
    assert.equal(made.output, output.replace(`Endpoint = ${other}\n`, ""), host);
  }
  // A group of three digits begins with a zero that is not written.
  const answer = served();
  answer.peers[0].endpoints = ["[ff8:8::2]:51820"];
  const { output: near } = await wgQuickFile(answer);
  assert.ok(near.includes("Endpoint = [ff8:8::2]:51820\n"), near);
});

/** The path of every value in the answer that is no list and no object. */
function leaves(value: Answer, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [path];
  return Object.entries(value).flatMap(([name, inner]) => leaves(inner, [...path, name]));
}
