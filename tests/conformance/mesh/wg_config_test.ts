import assert from "node:assert/strict";
import { assertError, assertInvalid, fetchDescribed, headersOf, post } from "../client.ts";
import {
  agree,
  configOf,
  join,
  meshTest,
  netmapOf,
  pairUp,
  ruleBetween,
  valuesOf,
} from "../mesh_cast.ts";

meshTest(
  "/wg_config → the interface, its firewall first and its key last, then each visible peer",
  async ({ alice, bob, carol }) => {
    const alices = await join(alice, { endpoint: "203.0.113.7:51820" });
    const bobs = await join(bob, { endpoint: "[2001:db8::7]:7" });
    await join(carol, { endpoint: "carol.example:51820" });
    await agree(ruleBetween(bob, alice, { port: 8080 }));

    const answer = await configOf(alice);
    assert.deepEqual(Object.keys(answer), ["agent_id", "config_version", "config"]);
    assert.equal(answer.agent_id, alice.id);
    assert.equal(answer.config_version, (await netmapOf(alice)).config_version);

    assert.deepEqual(valuesOf("Address", answer).map((value) => value.split("/")[0]), [
      alices.addresses[0],
    ]);
    assert.deepEqual(valuesOf("ListenPort", answer), ["51820"]);
    assert.deepEqual(valuesOf("Table", answer), ["off"]);
    assert.deepEqual(valuesOf("MTU", answer), ["1280"]);
    const hooks = valuesOf("PostUp", answer);
    assert.match(hooks[0]!, /nft -f/);
    assert.equal(hooks.at(-1), "wg set %i private-key /etc/wireguard/%i.key");
    assert.doesNotMatch(answer.config, /^PrivateKey/m);

    assert.deepEqual(valuesOf("PublicKey", answer), [bobs.pubkey]);
    assert.deepEqual(valuesOf("AllowedIPs", answer), [
      `${bobs.addresses[0]}/32, ${bobs.addresses[1]}/128`,
    ]);
    assert.deepEqual(valuesOf("Endpoint", answer), ["[2001:db8::7]:7"]);
    assert.deepEqual(valuesOf("PersistentKeepalive", answer), ["25"]);
    assert.match(answer.config, new RegExp(`^\\[Peer\\]\n# ${bob.id}\n`, "m"));
    assert.ok(!answer.config.includes(carol.id) && !answer.config.includes("carol.example"));

    const firewall = answer.config.split("\n").filter((line) => line.startsWith("#nft "));
    assert.ok(firewall.some((line) => line.includes("8080") && line.includes(bobs.addresses[0])));
    assert.ok(answer.config.split("\n").every((line) => line.length <= 1024));
  },
);

meshTest(
  "/wg_config of an unchanged state → the same text on every call",
  async ({ alice, bob, carol }) => {
    for (const agent of [carol, bob, alice]) await join(agent);
    await agree(ruleBetween(carol, alice));
    await agree(ruleBetween(bob, alice, { proto: "udp", port: 53 }));
    const first = await configOf(alice);
    for (let call = 0; call < 3; call++) assert.deepEqual(await configOf(alice), first);
  },
);

meshTest(
  "/wg_config → ListenPort is listen_port, else the endpoint's port, else none",
  async ({ alice }) => {
    await join(alice);
    assert.deepEqual(valuesOf("ListenPort", await configOf(alice)), []);
    await join(alice, { endpoint: "203.0.113.7:700" });
    assert.deepEqual(valuesOf("ListenPort", await configOf(alice)), ["700"]);
    await join(alice, { endpoint: "203.0.113.7:700", listen_port: 51820 });
    assert.deepEqual(valuesOf("ListenPort", await configOf(alice)), ["51820"]);
    await join(alice, { listen_port: 9 });
    assert.deepEqual(valuesOf("ListenPort", await configOf(alice)), ["9"]);
  },
);

meshTest(
  "/wg_config with a peer at a DNS name → no Endpoint line, which would fail without DNS",
  async ({ alice, bob }) => {
    await join(alice);
    await join(bob, { endpoint: "bob.example:51820" });
    await agree(ruleBetween(alice, bob));
    const answer = await configOf(alice);
    assert.deepEqual(valuesOf("Endpoint", answer), []);
    assert.ok(answer.config.includes("bob.example:51820"));
  },
);

meshTest(
  "/wg_config with private_key_file and firewall none → both as asked",
  async ({ alice }) => {
    await join(alice);
    const answer = await configOf(alice, {
      private_key_file: "/run/keys/%i.private",
      firewall: "none",
    });
    assert.equal(
      valuesOf("PostUp", answer).at(-1),
      "wg set %i private-key /run/keys/%i.private",
    );
    // Only the chain that keeps the tunnel's own packets out of the tunnel remains.
    assert.ok(!answer.config.includes("chain from_tunnel"));
    assert.ok(
      (await configOf(alice, { firewall: "nftables" })).config.includes("chain from_tunnel"),
    );
  },
);

meshTest(
  "/wg_config with a bad private_key_file or firewall → 422 that names it, and no PSK is made",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    const bad = {
      private_key_file: [
        "key",
        "",
        "/",
        "/etc/a b",
        "/etc/../shadow",
        "/etc/$(id)",
        "/etc/x;id",
        "/etc/x\nPostUp = id",
        "/etc/%n",
        "/etc/%",
        `/${"a".repeat(201)}`,
        null,
        7,
      ],
      firewall: ["iptables", "", "None", null, true],
    };
    for (const [field, values] of Object.entries(bad)) {
      for (const value of values) {
        const answer = await post("/agent-mesh/wg_config", { as: alice, body: { [field]: value } });
        assertInvalid(answer, field);
      }
    }
    assert.deepEqual((await netmapOf(alice)).peers.map((peer) => peer.psk_version), [null, null]);
  },
);

meshTest("/wg_config with accept: text/plain → the configuration alone", async ({ alice, bob }) => {
  await pairUp(alice, bob);
  const { config } = await configOf(alice);
  for (
    const accept of [
      "text/plain",
      "text/plain; charset=utf-8",
      "Text/Plain, */*;q=0.1",
      "text/plain, application/json;q=0",
    ]
  ) {
    const response = await fetchConfig({ ...headersOf(alice), accept });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "text/plain; charset=utf-8");
    assert.equal(response.headers.get("cache-control"), "no-store");
    assert.equal(await response.text(), config);
  }
  for (
    const accept of [
      "*/*",
      "application/json",
      "application/json, text/plain, */*",
      "text/plain;q=0",
      "text/plain; q=0.0, */*",
    ]
  ) {
    const response = await fetchConfig({ ...headersOf(alice), accept });
    assert.equal((await response.json()).config, config, accept);
  }
});

meshTest(
  "/wg_config with accept: text/plain by an agent without a peer → 404 as JSON",
  async ({ alice }) => {
    const answer = await post("/agent-mesh/wg_config", {
      as: alice,
      headers: { accept: "text/plain" },
    });
    assertError(answer, 404, "peer_not_found");
  },
);

function fetchConfig(headers: Record<string, string>): Promise<Response> {
  return fetchDescribed("/agent-mesh/wg_config", { method: "POST", headers });
}
