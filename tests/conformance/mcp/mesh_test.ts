import assert from "node:assert/strict";
import {
  configOf,
  join,
  leavesUnchanged,
  meshTest,
  netmapOf,
  newPubkey,
  pairUp,
  ruleBetween,
  valuesOf,
  type WgConfig,
} from "../mesh_cast.ts";
import { assertToolError, connect, DIALECTS } from "./mcp_client.ts";

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
      const seen = await byBob.succeed<{ acls: unknown }>("netmap");
      assert.deepEqual(seen, await netmapOf(bob));
      assert.deepEqual(seen.acls, [rule]);
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
  // The tool ignores `format`: the JSON form has PSKs elsewhere, where they would not be hidden.
  assert.deepEqual(await client.succeed<WgConfig>("wg_config", { format: "json" }), hidden);
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
