import assert from "node:assert/strict";
import fc from "fast-check";
import { parsePrivateKeyFile } from "../../../supabase/functions/agent-mesh/wireguard/private_key_file.ts";
import { renderWgQuick } from "../../../supabase/functions/agent-mesh/wireguard/wg_quick.ts";
import { unknownLines } from "./inputs/line_grammar.ts";
import { meshStates } from "./inputs/mesh_states.ts";
import { aliceState, configurationOf, peerState } from "./inputs/states.ts";
import { readText } from "./vectors.ts";

const everyKindOfPeer = aliceState({
  listen_port: 51820,
  peers: [
    peerState(4, { agent_id: "agent_1", endpoint: "vpn.example.com:51820" }),
    peerState(3, {
      agent_id: "agent-2",
      endpoint: "[2001:db8::3]:51820",
      inbound_rules: [{ proto: "udp", port: 53 }, { proto: "tcp", port: 443 }],
    }),
    peerState(2, {
      agent_id: "Zoe@example:1",
      endpoint: "203.0.113.2:51820",
      inbound_rules: [{ proto: "tcp", port: 22 }],
    }),
  ],
});

Deno.test("an agent with a peer of each kind → golden/every_kind_of_peer.conf", () => {
  const text = renderWgQuick(configurationOf(everyKindOfPeer));
  assert.equal(text, readText("golden/every_kind_of_peer.conf"));
});

Deno.test("an agent behind NAT that shares no rule → golden/alone.conf", () => {
  assert.equal(renderWgQuick(configurationOf(aliceState())), readText("golden/alone.conf"));
});

Deno.test("firewall none and another key file → golden/no_firewall.conf, with only the loop guard", () => {
  const privateKeyFile = parsePrivateKeyFile("/run/keys/%i");
  assert.ok(privateKeyFile.ok);
  const text = renderWgQuick(configurationOf(everyKindOfPeer), {
    firewall: "none",
    privateKeyFile: privateKeyFile.value,
  });
  assert.equal(text, readText("golden/no_firewall.conf"));
  assert.ok(!text.includes("from_tunnel"));
});

Deno.test("the private key is set by the last hook, after the firewall", () => {
  const hooks = renderWgQuick(configurationOf(everyKindOfPeer)).match(/^PostUp = .*$/gm) ?? [];
  assert.match(hooks[0] ?? "", /nft -f/);
  assert.equal(hooks.at(-1), "PostUp = wg set %i private-key /etc/wireguard/%i.key");
});

Deno.test("a rule for the other direction alone → the peer, and no open port on this host", () => {
  const text = renderWgQuick(configurationOf(aliceState({ peers: [peerState(2)] })));
  assert.match(text, /^AllowedIPs = 10\.213\.0\.2\/32, /m);
  assert.match(text, /set rules_ipv4 \{\n#nft {5}type .*\n#nft {3}\}/);
});

Deno.test("a peer with further endpoints → a comment names them, and nothing else changes", () => {
  const endpoint = "203.0.113.2:51820";
  const further_endpoints = ["[2001:db8::2]:51820", "host.example:7"];
  const [without, text] = [[], further_endpoints].map((further_endpoints) =>
    renderWgQuick(
      configurationOf(aliceState({ peers: [peerState(2, { endpoint, further_endpoints })] })),
    )
  );
  const comment = "# endpoints [2001:db8::2]:51820 host.example:7\n";
  assert.equal(
    text!.replace(`Endpoint = ${endpoint}\n${comment}`, `Endpoint = ${endpoint}\n`),
    without,
  );
  assert.ok(text!.includes(comment));
});

Deno.test("any state, its lists in any order → the same text, of known lines below 1 kB", () => {
  fc.assert(fc.property(meshStates, fc.boolean(), (state, hasFirewall) => {
    const options = { firewall: hasFirewall ? "nftables" : "none" } as const;
    const text = renderWgQuick(configurationOf(state), options);
    assert.deepEqual(unknownLines(text), []);
    const reversed = {
      ...state,
      peers: state.peers.toReversed().map((peer) => ({
        ...peer,
        inbound_rules: peer.inbound_rules.toReversed(),
      })),
    };
    assert.equal(renderWgQuick(configurationOf(reversed), options), text);
  }));
});

Deno.test("the longest identifiers, addresses and 500 rules of one peer → no line of 1 kB", () => {
  const text = renderWgQuick(configurationOf(aliceState({
    agent_id: "a".repeat(128),
    networks: ["100.100.0.0/16", "fd11:2222:3333:4444::/64"],
    addresses: ["100.100.100.100", "fd11:2222:3333:4444:5555:6666:7777:8888"],
    peers: [peerState(2, {
      agent_id: "b".repeat(128),
      addresses: ["100.100.100.101", "fd11:2222:3333:4444:5555:6666:7777:9999"],
      endpoint: `${"c".repeat(63)}.${"d".repeat(63)}.${"e".repeat(63)}.${"f".repeat(61)}:51820`,
      inbound_rules: Array.from({ length: 500 }, (_, n) => ({ proto: "tcp", port: 65_000 + n })),
    })],
  })));
  assert.deepEqual(unknownLines(text), []);
  assert.equal(text.match(/fd11:2222:3333:4444:5555:6666:7777:9999 \. tcp/g)?.length, 500);
});
