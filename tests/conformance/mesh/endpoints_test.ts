import assert from "node:assert/strict";
import { assertInvalid } from "../client.ts";
import {
  agree,
  configOf,
  join,
  leavesUnchanged,
  meshTest,
  netmapOf,
  newPubkey,
  ruleBetween,
  tryJoin,
  valuesOf,
} from "../mesh_cast.ts";

const FOUR = [
  "203.0.113.7:51820",
  "[2001:db8::7]:51820",
  "host.example:7",
  "192.168.1.7:51820",
];

meshTest(
  "/peer/register with endpoints → all of them, the first as endpoint",
  async ({ alice }) => {
    const peer = await join(alice, { endpoints: FOUR });
    assert.equal(peer.endpoint, FOUR[0]);
    assert.deepEqual(peer.endpoints, FOUR);
    assert.deepEqual((await netmapOf(alice)).peers.map(({ endpoints }) => endpoints), [FOUR]);

    const { endpoint, endpoints } = await join(alice, { endpoint: "198.51.100.7:1" });
    assert.deepEqual([endpoint, endpoints], ["198.51.100.7:1", ["198.51.100.7:1"]]);
  },
);

meshTest("endpoints with the same one in two spellings → once", async ({ alice }) => {
  const spellings = ["[::ffff:203.0.113.7]:1", "HOST.example:1", "203.0.113.7:1", "host.example:1"];
  const { endpoints } = await join(alice, { endpoint: "203.0.113.7:1", endpoints: spellings });
  assert.deepEqual(endpoints, ["203.0.113.7:1", "host.example:1"]);
});

meshTest("an empty list of endpoints → a peer behind NAT", async ({ alice }) => {
  await join(alice, { endpoints: FOUR });
  for (const registration of [{ endpoints: [] }, { endpoint: null, endpoints: [] }]) {
    const { endpoint, endpoints } = await join(alice, registration);
    assert.deepEqual([endpoint, endpoints], [null, []]);
  }
});

meshTest("endpoints that break a rule → 422, nothing changes", async ({ alice, bob }) => {
  const { addresses: [ipv4, ipv6], pubkey } = await join(alice, { endpoints: FOUR.slice(0, 2) });
  await join(bob);
  await agree(ruleBetween(bob, alice));
  const refused: readonly [path: string, fields: object][] = [
    ["endpoints", { endpoints: [...FOUR, "203.0.113.8:1"] }],
    ["endpoints", { endpoints: "203.0.113.7:1" }],
    ["endpoints.1", { endpoints: [FOUR[0], "127.0.0.1:1"] }],
    ["endpoints.1", { endpoints: [FOUR[0], "203.0.113.8:1\nPostUp = id"] }],
    ["endpoints.0", { endpoints: [null] }],
    ["endpoints", { endpoint: FOUR[1], endpoints: FOUR }],
    ["endpoints", { endpoint: null, endpoints: FOUR }],
    ["endpoints", { endpoint: FOUR[0], endpoints: [] }],
    ["endpoints", { endpoints: [FOUR[0], `${ipv4}:1`] }],
    ["endpoints", { endpoints: [FOUR[0], "host.example:1", `[${ipv6}]:1`] }],
    ["endpoints", { endpoints: [FOUR[0], `[::ffff:${ipv4}]:1`] }],
  ];
  await leavesUnchanged([alice, bob], async () => {
    for (const [path, fields] of refused) {
      assertInvalid(await tryJoin(alice, { pubkey, ...fields }), path);
    }
  });
});

meshTest(
  "/wg_config of a neighbour → the first endpoint to wg, all in a comment",
  async ({ alice, bob }) => {
    const pubkey = newPubkey();
    await join(alice, { pubkey, endpoints: FOUR.slice(0, 1) });
    await join(bob);
    await agree(ruleBetween(bob, alice));
    const before = await configOf(bob);
    assert.doesNotMatch(before.config, /^# endpoints/m);

    await join(alice, { pubkey, endpoints: FOUR });
    const after = await configOf(bob);
    assert.equal(after.config_version, before.config_version + 1);
    assert.deepEqual(valuesOf("Endpoint", after), [FOUR[0]]);
    const comment = `# endpoints ${FOUR.slice(1).join(" ")}\n`;
    assert.equal(after.config.replace(comment, ""), before.config);

    await join(alice, { pubkey, endpoints: [FOUR[0], ...FOUR.slice(1).reverse()] });
    assert.equal((await configOf(bob)).config_version, after.config_version + 1, "another order");
  },
);
