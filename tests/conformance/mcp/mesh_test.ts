import assert from "node:assert/strict";
import {
  agree,
  configOf,
  join,
  leavesUnchanged,
  meshTest,
  netmapOf,
  newPubkey,
  pairUp,
  putRule,
  ruleBetween,
  valuesOf,
  type WgConfig,
} from "../mesh_cast.ts";
import { assertToolError, connect, DIALECTS } from "./mcp_client.ts";

interface CompactMap {
  readonly agent_id: string;
  readonly self: { readonly addresses: readonly string[] };
  readonly peers: readonly {
    readonly agent_id: string;
    readonly address?: string;
    readonly you_reach?: readonly string[];
    readonly reaches_you?: readonly string[];
  }[];
  readonly acl_requests: readonly object[];
  readonly next_cursor: string | null;
}

for (const dialect of DIALECTS) {
  meshTest(
    `two agents that agree to a rule by ${dialect} → a request, then an active rule, then none`,
    async ({ alice, bob }) => {
      await using byAlice = await connect("agent-mesh", alice, { dialect });
      await using byBob = await connect("agent-mesh", bob, { dialect });
      await byAlice.succeed("peer_register", { agent_id: alice.id, pubkey: newPubkey() });
      await join(bob);
      const rule = ruleBetween(alice, bob);
      const asked = await byAlice.succeed("acl_put", rule);
      assert.deepEqual([asked["active"], asked["waiting_for"]], [false, bob.id]);
      assert.equal((await byBob.succeed("acl_put", rule))["active"], true);
      const { peers: [seen] } = await byBob.succeed<CompactMap>("netmap");
      assert.deepEqual([seen?.agent_id, seen?.reaches_you], [alice.id, ["tcp/443"]]);
      assert.equal((await byBob.succeed("acl_revoke", rule))["revoked"], true);
    },
  );
}

meshTest("wg_config → no PSK; with show_psks → the configuration", async ({ alice, bob }) => {
  await pairUp(alice, bob);
  await using client = await connect("agent-mesh", alice);
  const full = await configOf(alice);
  const [psk = ""] = valuesOf("PresharedKey", full);
  const shown = await client.succeed<WgConfig>("wg_config", { show_psks: true });
  assert.deepEqual(shown, full);
  const hidden = await client.succeed<WgConfig>("wg_config");
  assert.deepEqual(hidden, { ...full, config: full.config.replace(psk, "(hidden)") });
  assert.equal(JSON.stringify(hidden).includes(psk), false);
  assert.deepEqual(await client.succeed<WgConfig>("wg_config", { format: "wg-quick" }), hidden);
  // The JSON form has PSKs elsewhere, where they would not be hidden.
  assertToolError(await client.call("wg_config", { format: "json" }), "invalid_request");
});

meshTest(
  "a tool for another agent, between two others, or without a peer → the error of HTTP, and nothing has changed",
  async ({ alice, bob, carol }) => {
    await pairUp(alice, bob);
    await using client = await connect("agent-mesh", carol);
    await leavesUnchanged([alice, bob], async () => {
      const foreign = { agent_id: alice.id };
      assertToolError(await client.call("peer_remove", foreign), "forbidden");
      assertToolError(await client.call("wg_config", foreign), "forbidden");
      assertToolError(await client.call("acl_revoke", ruleBetween(alice, bob)), "forbidden");
      assertToolError(await client.call("psk_rotate", { a: alice.id, b: bob.id }), "forbidden");
      assertToolError(await client.call("wg_config"), "peer_not_found");
      assertToolError(await client.call("wg_config", { show_psks: "yes" }), "invalid_request");
      assertToolError(await client.call("acl_put", {}), "invalid_request");
    });
  },
);

meshTest(
  "netmap → a row for each neighbour, by pages; with_agent → all that concerns this one",
  async ({ alice, bob, carol }) => {
    await pairUp(alice, bob);
    // An agent without a peer is a neighbour, too.
    await agree(ruleBetween(carol, alice, { port: 22 }));
    await putRule(alice, ruleBetween(alice, carol, { port: 5432 }));
    await using client = await connect("agent-mesh", alice);
    const full = await netmapOf(alice);
    const map = await client.succeed<CompactMap>("netmap");
    assert.deepEqual(map.self.addresses, full.peers.find(({ self }) => self)?.addresses);
    assert.deepEqual(map.acl_requests, full.acl_requests);
    const [toBob, toCarol] = [bob, carol].map(({ id }) =>
      map.peers.find(({ agent_id }) => agent_id === id)
    );
    assert.deepEqual(toBob?.you_reach, ["tcp/443"]);
    assert.deepEqual(toCarol?.reaches_you, ["tcp/22"]);
    assert.equal(toBob?.address, full.peers.find(({ self }) => !self)?.addresses[0]);
    assert.equal(map.next_cursor, null);

    const first = await client.succeed<CompactMap>("netmap", { limit: 1 });
    const second = await client.succeed<CompactMap>("netmap", {
      limit: 1,
      cursor: first.next_cursor,
    });
    assert.deepEqual([...first.peers, ...second.peers], map.peers);
    assert.equal(second.next_cursor, null);

    const withBob = await client.succeed("netmap", { with_agent: bob.id });
    assert.deepEqual(withBob["peer"], full.peers.find(({ agent_id }) => agent_id === bob.id));
    assert.deepEqual(withBob["acls"], full.acls.filter(({ to_agent }) => to_agent === bob.id));
    assert.deepEqual(withBob["acl_requests"], []);
    const stranger = await client.succeed("netmap", { with_agent: "nobody-here" });
    assert.deepEqual([stranger["peer"], stranger["acls"]], [null, []]);
  },
);

meshTest(
  "wg_config with more peers than limit → the first, and how many are left out; with_agent → its section",
  async ({ alice, bob, carol }) => {
    await pairUp(alice, bob);
    await pairUp(alice, carol);
    await using client = await connect("agent-mesh", alice);
    const { config } = await configOf(alice);
    const shown = { show_psks: true };
    const whole = await client.succeed("wg_config", { ...shown, limit: 2 });
    assert.deepEqual([whole["config"], whole["peers_left_out"]], [config, undefined]);
    const cut = await client.succeed("wg_config", { ...shown, limit: 1 });
    assert.equal(cut["peers_left_out"], 1);
    assert.ok(config.startsWith(String(cut["config"])));
    assert.equal(String(cut["config"]).split("[Peer]").length, 2);
    for (const { id } of [bob, carol]) {
      const one = String(
        (await client.succeed("wg_config", { ...shown, with_agent: id }))["config"],
      );
      assert.ok(one.startsWith(`[Peer]\n# ${id}\n`) && config.includes(one));
      assert.doesNotMatch(one, /#nft|\[Interface\]/);
      const hidden = await client.succeed("wg_config", { with_agent: id });
      assert.match(String(hidden["config"]), /PresharedKey = \(hidden\)/);
    }
    const none = await client.succeed("wg_config", { with_agent: "nobody-here" });
    assert.equal(none["config"], null);
  },
);
