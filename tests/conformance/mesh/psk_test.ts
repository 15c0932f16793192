import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { type Agent, assertError, assertInvalid, ISO_TIMESTAMP, post } from "../client.ts";
import {
  agree,
  configOf,
  configVersionOf,
  join,
  leavesUnchanged,
  meshTest,
  netmapOf,
  pairUp,
  putRule,
  revokeRule,
  rotate,
  ruleBetween,
  valuesOf,
} from "../mesh_cast.ts";

meshTest(
  "/wg_config of both sides → one PSK of 32 bytes, the same on every call",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    const psk = await pskOf(alice);
    assert.equal(Buffer.from(psk, "base64").byteLength, 32);
    for (const agent of [bob, alice, bob]) assert.equal(await pskOf(agent), psk);
  },
);

meshTest("32 first /wg_config at once, from both sides → one PSK", async ({ alice, bob }) => {
  await pairUp(alice, bob);
  const psks = await Promise.all(
    Array.from({ length: 32 }, (_, index) => pskOf(index % 2 === 0 ? alice : bob)),
  );
  assert.equal(new Set(psks).size, 1);
  assert.equal(await pskOf(alice), psks[0]);
});

meshTest(
  "/wg_config of three agents in three pairs → each pair has a PSK of its own",
  async ({ alice, bob, carol }) => {
    await pairUp(alice, bob);
    await join(carol);
    await agree(ruleBetween(carol, alice));
    await agree(ruleBetween(carol, bob));
    const [withBob, withCarol] = valuesOf("PresharedKey", await configOf(alice));
    const [withAlice, withCarolToo] = valuesOf("PresharedKey", await configOf(bob));
    assert.equal(withAlice, withBob);
    assert.equal(new Set([withBob, withCarol, withCarolToo]).size, 3);
  },
);

for (const rotator of ["alice", "bob", "operator"] as const) {
  meshTest(
    `/psk/rotate by ${rotator} → another PSK for both, psk_version one higher`,
    async (cast) => {
      const { alice, bob } = cast;
      await pairUp(alice, bob);
      const before = await pskOf(alice);
      const versions = [await configVersionOf(alice), await configVersionOf(bob)];
      const as = rotator === "operator" ? rotator : cast[rotator];
      const answer = await rotate(as, bob, alice);
      assert.equal(answer.status, 200);
      assert.deepEqual(answer.body, {
        a: bob.id,
        b: alice.id,
        psk_version: 2,
        rotated_at: answer.body["rotated_at"],
      });
      assert.match(String(answer.body["rotated_at"]), ISO_TIMESTAMP);
      assert.deepEqual(
        [await configVersionOf(alice), await configVersionOf(bob)],
        versions.map((version) => version + 1),
      );
      const after = await pskOf(bob);
      assert.notEqual(after, before);
      assert.equal(await pskOf(alice), after);
      for (const agent of [alice, bob]) {
        const other = (await netmapOf(agent)).peers.find(({ self }) => !self);
        assert.equal(other?.psk_version, 2);
      }
    },
  );
}

meshTest(
  "/psk/rotate of two that do not see each other → the same 404 for every reason, no change",
  async ({ alice, bob, carol }) => {
    await join(alice);
    await join(bob);
    await putRule(alice, ruleBetween(alice, bob));
    await agree(ruleBetween(alice, carol));
    await leavesUnchanged([alice, bob, carol], async () => {
      const bodies = [];
      const unseen: readonly (readonly [string, Agent, string])[] = [
        ["they share a request only", alice, bob.id],
        ["they share an active rule, but the other has no peer", alice, carol.id],
        ["the other does not exist", alice, "nobody-has-this"],
        ["the other is the caller itself", alice, alice.id],
        ["they share an active rule, but the caller has no peer", carol, alice.id],
        ["they share no rule, and the caller has no peer", carol, bob.id],
      ];
      for (const [reason, as, other] of unseen) {
        for (const body of [{ a: as.id, b: other }, { a: other, b: as.id }]) {
          const answer = await post("/agent-mesh/psk/rotate", {
            as,
            body,
            headers: { "x-request-id": "same" },
          });
          assert.equal(answer.status, 404, reason);
          assertError(answer, 404, "peer_not_found");
          bodies.push(JSON.stringify(answer.body));
        }
      }
      assert.equal(new Set(bodies).size, 1);
    });
    await agree(ruleBetween(alice, bob));
    await configOf(alice);
    await revokeRule(bob, ruleBetween(alice, bob));
    await leavesUnchanged([alice, bob], async () => {
      assertError(await rotate(alice, alice, bob), 404, "peer_not_found");
    });
  },
);

meshTest(
  "/psk/rotate by the operator, of two that do not see each other → 404 that says what is missing",
  async ({ alice, bob, carol }) => {
    await join(alice);
    await join(bob);
    await agree(ruleBetween(alice, carol));
    await leavesUnchanged([alice, bob, carol], async () => {
      const missing: readonly (readonly [Agent, RegExp])[] = [
        [bob, /share no active rule.*\/acl\/put/],
        [carol, new RegExp(`Not registered: ${carol.id}\\..*/peer/register`)],
      ];
      for (const [other, sentence] of missing) {
        const answer = await rotate("operator", alice, other);
        assertError(answer, 404, "peer_not_found");
        assert.match(JSON.stringify(answer.body), sentence);
      }
    });
  },
);

meshTest(
  "/psk/rotate by a third agent → 403, whether the two are a pair or not, and nothing changes",
  async ({ alice, bob, carol }) => {
    await pairUp(alice, bob);
    await join(carol);
    await leavesUnchanged([alice, bob], async () => {
      assertError(await rotate(carol, alice, bob), 403, "forbidden");
      const unknown = { a: alice.id, b: "nobody-has-this" };
      const answer = await post("/agent-mesh/psk/rotate", { as: carol, body: unknown });
      assertError(answer, 403, "forbidden");
    });
  },
);

meshTest(
  "/psk/rotate of a PSK that is still to be made → the version that it will have, no change",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    const versions = [await configVersionOf(alice), await configVersionOf(bob)];
    for (const rotator of [bob, alice, bob]) {
      const answer = await rotate(rotator, alice, bob);
      assert.equal(answer.status, 200);
      assert.equal(answer.body["psk_version"], 1);
      assert.match(String(answer.body["rotated_at"]), ISO_TIMESTAMP);
    }
    assert.deepEqual([await configVersionOf(alice), await configVersionOf(bob)], versions);

    const first = await pskOf(alice);
    assert.equal((await rotate(bob, alice, bob)).body["psk_version"], 2);
    assert.equal((await rotate(alice, alice, bob)).body["psk_version"], 2);
    const second = await pskOf(bob);
    assert.notEqual(second, first);
    assert.equal(await pskOf(alice), second);
  },
);

meshTest(
  "/psk/rotate with bad fields → 422 that names each, and nothing changes",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    await leavesUnchanged([alice, bob], async () => {
      assertInvalid(await post("/agent-mesh/psk/rotate", { as: alice }), "a", "b");
      const body = { a: alice.id, b: "not an identifier" };
      assertInvalid(await post("/agent-mesh/psk/rotate", { as: alice, body }), "b");
    });
  },
);

for (const changer of ["alice", "bob"] as const) {
  meshTest(
    `/peer/register of another pubkey by ${changer} → another PSK for each of its pairs alone`,
    async (cast) => {
      const { alice, bob, carol } = cast;
      await pairUp(alice, bob);
      await join(carol);
      await agree(ruleBetween(carol, alice));
      await agree(ruleBetween(carol, bob));
      const before = await Promise.all([alice, bob, carol].map((agent) => configOf(agent)));
      await join(cast[changer]);
      const after = await Promise.all([alice, bob, carol].map((agent) => configOf(agent)));
      const changed = before.map((config, index) =>
        valuesOf("PresharedKey", config).filter((psk) =>
          !valuesOf("PresharedKey", after[index]!).includes(psk)
        ).length
      );
      // The agent with the new pubkey has two new PSKs; each of the others has one.
      assert.deepEqual(changed, changer === "alice" ? [2, 1, 1] : [1, 2, 1]);
      assert.equal(await pskOf(alice), await pskOf(bob));
      const versions = (await netmapOf(cast[changer])).peers.map(({ psk_version }) => psk_version);
      assert.deepEqual(versions.filter((version) => version !== null), [2, 2]);
    },
  );
}

meshTest(
  "another endpoint, another rule, a rule revoked → the PSK stays",
  async ({ alice, bob }) => {
    const { pubkey } = await pairUp(alice, bob);
    const psk = await pskOf(alice);
    await join(alice, { pubkey, endpoint: "203.0.113.9:51820" });
    await agree(ruleBetween(bob, alice, { port: 22 }));
    await revokeRule(bob, ruleBetween(alice, bob));
    assert.equal(await pskOf(alice), psk);
    assert.ok(psk.length === 44);
  },
);

/** The PSK that an agent shares with the first of its peers. */
async function pskOf(agent: Agent): Promise<string> {
  return valuesOf("PresharedKey", await configOf(agent))[0]!;
}
