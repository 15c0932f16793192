import assert from "node:assert/strict";
import { type Agent, assertInvalid, type JsonObject, post, succeed } from "../client.ts";
import {
  agree,
  configOf,
  configVersionOf,
  join,
  leavesUnchanged,
  meshTest,
  netmapOf,
  pairUp,
  type Path,
  revokeRule,
  ruleBetween,
} from "../mesh_cast.ts";

const NO_REPORTS = { reported_by_self: null, reported_by_peer: null };

const REPORT = { handshake_age_seconds: 42, endpoint: "203.0.113.7:4242", via: "direct" };

/** The operations that accept a report about paths to neighbours. */
const OPERATIONS = ["/agent-mesh/peer/heartbeat", "/agent-mesh/wait", "/agent-artifacts/wait"];

function report(as: Agent, paths: unknown, operation = OPERATIONS[0]!): Promise<JsonObject> {
  return succeed(operation, { as, body: { paths } });
}

async function pathBetween(agent: Agent, other: Agent): Promise<Path | null | undefined> {
  const { peers } = await netmapOf(agent);
  return peers.find(({ agent_id }) => agent_id === other.id)?.path;
}

for (const operation of OPERATIONS) {
  meshTest(
    `${operation} with paths → /netmap tells both sides what was reported, no version rises`,
    async ({ alice, bob }) => {
      await pairUp(alice, bob);
      assert.deepEqual(await pathBetween(alice, bob), NO_REPORTS);
      assert.equal(await pathBetween(alice, alice), null);
      const versions = [await configVersionOf(alice), await configVersionOf(bob)];
      await report(alice, [{ agent_id: bob.id, ...REPORT }], operation);

      const seen = await pathBetween(alice, bob);
      assert.deepEqual(Object.keys(seen?.reported_by_self ?? {}).sort(), [
        "endpoint",
        "handshake_age_seconds",
        "reported_at",
        "since",
        "via",
        "works",
      ]);
      const { works, via, endpoint, handshake_age_seconds } = seen!.reported_by_self!;
      assert.deepEqual({ via, endpoint, handshake_age_seconds }, REPORT);
      assert.equal(works, true);
      assert.deepEqual(await pathBetween(bob, alice), {
        reported_by_self: null,
        reported_by_peer: seen!.reported_by_self,
      });
      assert.deepEqual([await configVersionOf(alice), await configVersionOf(bob)], versions);
    },
  );
}

meshTest(
  "paths from both sides → each side's map has both, its own first",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    await report(alice, [{ agent_id: bob.id, ...REPORT }]);
    await report(bob, [{ agent_id: alice.id, ...REPORT, via: "relay" }]);
    const seenByAlice = await pathBetween(alice, bob);
    const seenByBob = await pathBetween(bob, alice);
    assert.equal(seenByAlice?.reported_by_self?.via, "direct");
    assert.equal(seenByAlice?.reported_by_peer?.via, "relay");
    assert.deepEqual(seenByBob, {
      reported_by_self: seenByAlice?.reported_by_peer,
      reported_by_peer: seenByAlice?.reported_by_self,
    });
  },
);

meshTest(
  "paths of agents without an active rule → left out, and shown to nobody",
  async ({ alice, bob, carol }) => {
    await pairUp(alice, bob);
    await join(carol);
    await report(
      alice,
      [bob.id, carol.id, "nobody-has-this", alice.id].map((agent_id) => ({
        agent_id,
        ...REPORT,
      })),
    );
    assert.equal((await pathBetween(alice, bob))?.reported_by_self?.works, true);
    assert.deepEqual((await netmapOf(carol)).peers.map(({ path }) => path), [null]);
    // A report from before the rule does not count after it.
    await agree(ruleBetween(carol, alice));
    assert.deepEqual(await pathBetween(carol, alice), NO_REPORTS);
  },
);

meshTest(
  "what a neighbour sees of a third agent → not in the map of the agent",
  async ({ alice, bob, carol }) => {
    for (const agent of [alice, bob, carol]) await join(agent);
    await agree(ruleBetween(alice, bob));
    await agree(ruleBetween(carol, bob));
    await agree(ruleBetween(alice, carol));
    await report(bob, [{ agent_id: carol.id, ...REPORT, endpoint: "203.0.113.99:999" }]);
    assert.ok(!JSON.stringify(await netmapOf(alice)).includes("203.0.113.99"));
    assert.ok(JSON.stringify(await netmapOf(carol)).includes("203.0.113.99"));
  },
);

meshTest(
  "paths, then others → what a later report leaves out stays for now, what it names is replaced",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    await report(alice, [{ agent_id: bob.id, ...REPORT }]);
    for (const paths of [undefined, []]) {
      await report(alice, paths);
      assert.equal((await pathBetween(alice, bob))?.reported_by_self?.works, true);
    }
    await report(alice, [{ agent_id: bob.id, ...REPORT, via: "none" }]);
    assert.equal((await pathBetween(alice, bob))?.reported_by_self?.works, false);
  },
);

meshTest(
  "a rule that is revoked → the path is shown to nobody",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    await report(alice, [{ agent_id: bob.id, ...REPORT }]);
    await revokeRule(bob, ruleBetween(alice, bob));
    assert.equal(await pathBetween(alice, bob), undefined);
    assert.ok(!JSON.stringify(await netmapOf(bob)).includes("203.0.113.7"));
  },
);

meshTest(
  "an endpoint that means nothing to other hosts → counts as unknown",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    for (
      const endpoint of [
        "127.0.0.1:4242",
        "[::1]:4242",
        "[fe80::1%eth0]:4242",
        "[fe80::1]:4242",
        "0.0.0.0:4242",
        "224.0.0.1:4242",
        "203.0.113.7:65536",
        "203.0.113.256:4242",
        null,
      ]
    ) {
      await report(alice, [{ agent_id: bob.id, ...REPORT, endpoint }]);
      const reported = (await pathBetween(alice, bob))?.reported_by_self;
      assert.equal(reported?.endpoint, null, String(endpoint));
      assert.equal(reported?.works, true);
    }
  },
);

meshTest(
  "an endpoint in another spelling → in the one spelling of this service",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    for (
      const [endpoint, canonical] of [
        ["[2001:DB8:0::7]:4242", "[2001:db8::7]:4242"],
        ["[::ffff:203.0.113.7]:4242", "203.0.113.7:4242"],
      ]
    ) {
      await report(alice, [{ agent_id: bob.id, ...REPORT, endpoint }]);
      assert.equal((await pathBetween(alice, bob))?.reported_by_self?.endpoint, canonical);
    }
  },
);

const path = (changes: object) => [{ agent_id: "bob", ...REPORT, ...changes }];
for (
  const [what, paths, issue] of [
    ["no list", {}, "paths"],
    ["65 paths", Array.from({ length: 65 }, (_, i) => path({ agent_id: `a${i}` })[0]), "paths"],
    ["one agent twice", [...path({}), ...path({})], "paths"],
    ["no agent_id", path({ agent_id: undefined }), "paths.0.agent_id"],
    ["a malformed agent_id", path({ agent_id: "-" }), "paths.0.agent_id"],
    ["an unknown way", path({ via: "pigeon" }), "paths.0.via"],
    ["no way", path({ via: undefined }), "paths.0.via"],
    ["a negative age", path({ handshake_age_seconds: -1 }), "paths.0.handshake_age_seconds"],
    ["half a second", path({ handshake_age_seconds: 0.5 }), "paths.0.handshake_age_seconds"],
    [
      "an age of a century",
      path({ handshake_age_seconds: 1_000_000_001 }),
      "paths.0.handshake_age_seconds",
    ],
    ["no age", path({ handshake_age_seconds: undefined }), "paths.0.handshake_age_seconds"],
    ["no endpoint", path({ endpoint: undefined }), "paths.0.endpoint"],
    ["a DNS name", path({ endpoint: "builder.example:4242" }), "paths.0.endpoint"],
    ["an address without a port", path({ endpoint: "203.0.113.7" }), "paths.0.endpoint"],
    ["a line break", path({ endpoint: "203.0.113.7:4242\n" }), "paths.0.endpoint"],
  ] as const
) {
  meshTest(`paths with ${what} → 422, nothing changes`, async ({ alice, bob }) => {
    await pairUp(alice, bob);
    await configOf(alice);
    await leavesUnchanged([alice, bob], async () => {
      for (const operation of OPERATIONS) {
        assertInvalid(await post(operation, { as: alice, body: { paths } }), issue);
      }
    });
  });
}
