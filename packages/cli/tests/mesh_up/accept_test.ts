/** Which answers of /wg_config `mesh up` accepts, and what it makes of them. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { renderRuleset } from "../../../../supabase/functions/agent-mesh/wireguard/nftables.ts";
import { renderJson } from "../../../../supabase/functions/agent-mesh/json_configuration.ts";
import { meshStates } from "../../../../tests/unit/wireguard/inputs/mesh_states.ts";
import {
  aliceState,
  configurationOf,
  largeState,
  peerState,
} from "../../../../tests/unit/wireguard/inputs/states.ts";
import { accept, RefusedConfiguration } from "../../mesh/up/wanted/accept.ts";
import { rulesetOf } from "../../mesh/up/wanted/ruleset.ts";

/** An answer of /wg_config, which a test changes. */
// deno-lint-ignore no-explicit-any -- A test sets fields to values that no type allows.
type Answer = any;

function served(state = aliceState({ peers: [peerState(2), peerState(3)] })): Answer {
  const rendered = renderJson(configurationOf(state), { relay: false, reportRefused: false });
  return structuredClone({ config_version: 7, ...rendered });
}

/** The ruleset's lines, with the elements of its sets one on each line. */
function lines(ruleset: string): string[] {
  return ruleset.split("\n").flatMap((line) => line.trim().replace(/,$/, "").split(", "))
    .filter((line) => line !== "");
}

Deno.test("any configuration that the service renders → accepted; the firewall has the rules of its wg-quick configuration", () => {
  fc.assert(
    fc.property(meshStates, (state) => {
      // No agent is its own peer.
      fc.pre(state.peers.every(({ agent_id }) => agent_id !== state.agent_id));
      const configuration = configurationOf(state);
      const wanted = accept(served(state));
      assert.equal(wanted.peers.length, state.peers.length);
      const place = { interfaceName: "mesh+0", port: 51_820 };
      const rendered = renderRuleset(configuration).join("\n").replaceAll(
        "<table>",
        "agent_mesh_mesh_0",
      )
        .replaceAll("<interface>", "mesh+0").replaceAll("<port>", "51820");
      const own = rulesetOf(wanted, { ...place, firewall: "nftables" });
      assert.deepEqual(lines(own), lines(rendered));
    }),
    { numRuns: 200 },
  );
});

Deno.test("report_refused → the firewall counts what it drops, in addition; anything but true → it does not", () => {
  const place = { interfaceName: "mesh0", port: 51_820, firewall: "nftables" } as const;
  const plain = rulesetOf(accept(served()), place);
  for (const report_refused of [undefined, null, "true", 1, []]) {
    assert.equal(rulesetOf(accept({ ...served(), report_refused }), place), plain);
  }
  const counting = rulesetOf(accept({ ...served(), report_refused: true }), place);
  const [before, after] = [plain, counting].map((text) => text.split("\n"));
  const added = after!.filter((line) => !before!.includes(line));
  assert.deepEqual(before!.filter((line) => !after!.includes(line)), []);
  const rules = added.filter((line) => line.includes("add @refused_"));
  assert.equal(rules.length, 2);
  assert.ok(rules.every((line) => !/accept|drop/.test(line)), "these decide nothing");
});

Deno.test("a thousand peers with five rules each → accepted", () => {
  const wanted = accept(served(largeState({ peers: 1000, rulesPerPeer: 5 })));
  assert.equal(wanted.peers.length, 1000);
  assert.ok(wanted.peers.every(({ rules }) => rules.length === 5));
});

Deno.test("a field that this agent does not know → ignored, and nothing of it is kept", () => {
  const answer = served();
  answer.hooks = ["touch /tmp/x"];
  answer.peers[0].post_up = "touch /tmp/x";
  answer.interface.table = "auto";
  assert.deepEqual(accept(answer), accept(served()));
});

const REFUSED: Record<string, (answer: Answer) => void> = {
  "no agent_id": (answer) => delete answer.agent_id,
  "no config_version": (answer) => answer.config_version = null,
  "a config_version as text": (answer) => answer.config_version = "07",
  "no interface": (answer) => answer.interface = null,
  "no peers": (answer) => delete answer.peers,
  "no rules": (answer) => delete answer.rules,
  "one address": (answer) => answer.interface.addresses.pop(),
  "three addresses": (answer) => answer.interface.addresses.push("10.213.0.9/16"),
  "an MTU below IPv6's": (answer) => answer.interface.mtu = 1279,
  "an MTU with a fraction": (answer) => answer.interface.mtu = 1280.5,
  "a port of 0": (answer) => answer.interface.listen_port = 0,
  "a port as text": (answer) => answer.interface.listen_port = "51820",
  "a peer that is text": (answer) => answer.peers[0] = "x",
  "an agent_id with a line break": (answer) => answer.peers[0].agent_id = "a\nb",
  "the same agent twice": (answer) => answer.peers[1].agent_id = answer.peers[0].agent_id,
  "the same public key twice": (answer) => answer.peers[1].public_key = answer.peers[0].public_key,
  "a public key in another spelling": (answer) =>
    answer.peers[0].public_key = answer.peers[0].public_key.replace(/.=$/, "B="),
  "a PSK with a line break": (answer) => answer.peers[0].preshared_key += "\n",
  "no PSK": (answer) => answer.peers[0].preshared_key = "",
  "an address outside of the mesh": (answer) => answer.peers[0].allowed_ips[0] = "10.214.0.2/32",
  "a network": (answer) => answer.peers[0].allowed_ips[0] = "10.213.0.0/24",
  "everything": (answer) => answer.peers[0].allowed_ips = ["0.0.0.0/0", "::/0"],
  "an IPv4 address alone": (answer) => answer.peers[0].allowed_ips.pop(),
  "an IPv6 address outside of the mesh": (answer) =>
    answer.peers[0].allowed_ips[1] = "fd12:3456:789a:2::2/128",
  "this host's own address": (answer) => answer.peers[0].allowed_ips[0] = "10.213.0.1/32",
  "another peer's address": (answer) =>
    answer.peers[1].allowed_ips[0] = answer.peers[0].allowed_ips[0],
  "another peer's address in another spelling": (answer) =>
    answer.peers[1].allowed_ips[1] = "fd12:3456:789a:1:0:0:0:2/128",
  "an address with a leading zero": (answer) => answer.peers[0].allowed_ips[0] = "10.213.0.02/32",
  "an address with a zone": (answer) =>
    answer.peers[0].allowed_ips[1] = "fd12:3456:789a:1::2%1/128",
  "a keepalive below 0": (answer) => answer.peers[0].persistent_keepalive = -1,
  "an endpoint with a command": (answer) => answer.peers[0].endpoints = ["$(id):51820"],
  "an endpoint with an option": (answer) => answer.peers[0].endpoints = ["-h:1"],
  "an endpoint with a line break": (answer) => answer.peers[0].endpoints = ["a.example:1\nb"],
  "an endpoint in hex": (answer) => answer.peers[0].endpoints = ["0x7f.0x1:51820"],
  "an endpoint with three numbers": (answer) => answer.peers[0].endpoints = ["127.0.1:51820"],
  "an endpoint without a port": (answer) => answer.peers[0].endpoints = ["a.example"],
  "endpoints that are text": (answer) => answer.peers[0].endpoints = "a.example:1",
  "a rule for another protocol": (answer) =>
    answer.rules = [{ from_agent: "agent-2", to_agent: "alice", port: 1, proto: "sctp" }],
  "a rule for a command": (answer) =>
    answer.rules = [{ from_agent: "agent-2", to_agent: "alice", port: "1 }; x", proto: "tcp" }],
  "a rule of a stranger": (answer) =>
    answer.rules = [{ from_agent: "stranger", to_agent: "alice", port: 1, proto: "tcp" }],
  "a rule between others": (answer) =>
    answer.rules = [{ from_agent: "agent-2", to_agent: "agent-3", port: 1, proto: "tcp" }],
};

for (const [what, change] of Object.entries(REFUSED)) {
  Deno.test(`${what} → refused, with a printable sentence without a key`, () => {
    const answer = served();
    change(answer);
    assert.throws(() => accept(answer), (error) => {
      assert.ok(error instanceof RefusedConfiguration, String(error));
      assert.match(error.message, /^the configuration is refused: [ -~]+$/);
      assert.doesNotMatch(error.message, /[A-Za-z0-9+/]{40}/);
      return true;
    });
  });
}

const NO_MESH = {
  ipv4: [
    "0.1.2.3/16",
    "127.1.2.3/24",
    "169.254.0.1/16",
    "169.1.2.3/8",
    "224.0.0.1/8",
    "255.255.255.1/24",
    "10.213.0.1/7",
    "10.213.0.1/33",
    "10.213.0.1/016",
    "10.213.0.01/16",
    "10.213.1/16",
    "10.213.0.1",
  ],
  ipv6: [
    "::1/64",
    "::ffff:10.213.0.1/64",
    "2001:db8::1/64",
    "fc00::1/64",
    "fe80::1/64",
    "ff02::1/64",
    "fd12:3456:789a:1::1/48",
    "FD12:3456:789a:1::1/64",
  ],
};

for (const [family, networks] of Object.entries(NO_MESH)) {
  for (const network of networks) {
    Deno.test(`a mesh at ${network} → refused`, () => {
      const answer = served(aliceState());
      answer.interface.addresses[family === "ipv4" ? 0 : 1] = network;
      assert.throws(() => accept(answer), RefusedConfiguration);
    });
  }
}

Deno.test("endpoints that lead back to this host or into the mesh → the peer has none", () => {
  for (
    const endpoint of [
      "127.0.0.1:1",
      "10.213.0.7:1",
      "0.0.0.0:1",
      "224.0.0.1:1",
      "[::1]:1",
      "[::ffff:a00:1]:1",
      "[64:ff9b::a00:1]:1",
      "[fe80::1]:1",
      "[fd12:3456:789a:1::7]:1",
    ]
  ) {
    const answer = served();
    answer.peers[0].endpoints = [endpoint];
    assert.equal(accept(answer).peers[0]!.endpoint, null, endpoint);
  }
});

Deno.test("names that are no DNS labels → the peer has no name, and stays", () => {
  for (const name of ["a b", "-x", "12", "0x1", "localhost", "A", "10.0.0.1 x\ny", null, 5]) {
    const answer = served();
    answer.peers[0].name = name;
    assert.equal(accept(answer).peers[0]!.name, null, String(name));
  }
});
