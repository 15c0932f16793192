import assert from "node:assert/strict";
import { type Agent, succeed } from "../../../../tests/conformance/client.ts";
import {
  agree,
  configVersionOf,
  join,
  meshTest,
  pairUp,
  ruleBetween,
} from "../../../../tests/conformance/mesh_cast.ts";
import { printed, rows, run } from "./run_report.ts";

/** A heartbeat that reports an agent's path to another one. */
async function report(agent: Agent, other: Agent, path: object): Promise<void> {
  await succeed("/agent-mesh/peer/heartbeat", {
    as: agent,
    body: {
      config_version: await configVersionOf(agent),
      paths: [{
        agent_id: other.id,
        via: "direct",
        endpoint: null,
        handshake_age_seconds: 5,
        ...path,
      }],
    },
  });
}

/** The faults of these agents that mesh check finds. */
async function faultsOf(...agents: readonly Agent[]): Promise<readonly Record<string, unknown>[]> {
  const { output } = await run("mesh_check", "--json");
  const ids = new Set(agents.map(({ id }) => id));
  return output.split("\n").filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ agent_id }) => ids.has(String(agent_id)));
}

meshTest(
  "mesh --paths and mesh check, of two behind NAT whose hosts see no handshake → the reason; of a path that works → since when, and no fault",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    const none = { via: "none", handshake_age_seconds: null };
    await report(alice, bob, none);
    await report(bob, alice, none);
    assert.match(
      await printed("mesh", "--paths", "--agent", alice.id),
      new RegExp(
        `^${alice.id}\t${bob.id}\tdoes not work since .* UTC: both are behind NAT, and no relay is set$`,
      ),
    );
    const [fault, ...others] = await faultsOf(alice, bob);
    assert.deepEqual(others, []);
    assert.equal(fault?.["fault"], "no_path");
    assert.equal(fault?.["other_agent_id"], bob.id);
    const { code, output } = await run("mesh_check");
    assert.equal(code, 1);
    assert.match(
      output,
      new RegExp(
        `^${alice.id}\tno_path\twith ${bob.id} does not work since .*behind NAT, and no relay is set$`,
        "m",
      ),
    );

    await report(alice, bob, {});
    await report(bob, alice, { via: "relay" });
    assert.match(
      await printed("mesh", "--paths", "--agent", bob.id),
      new RegExp(`^${alice.id}\t${bob.id}\tworks through a relay since [^\t]+ UTC$`),
    );
    assert.deepEqual(await faultsOf(alice, bob), []);
  },
);

meshTest(
  "mesh --paths --json → both sides with what they report; a pair whose rule is gone is left out",
  async ({ alice, bob, carol }) => {
    await pairUp(alice, bob);
    await join(carol);
    await agree(ruleBetween(carol, alice));
    await report(alice, bob, { endpoint: "203.0.113.7:4242" });
    type Side = Record<string, unknown> & { report: Record<string, unknown> | null };
    const found = await rows<[Side, Side]>("mesh", "--paths", "--agent", alice.id);
    assert.deepEqual(found.map((sides) => sides.map(({ agent_id }) => agent_id)), [
      [alice.id, bob.id],
      [alice.id, carol.id],
    ]);
    const [[one, other]] = found as [[Side, Side], [Side, Side]];
    assert.deepEqual([one.report?.["endpoint"], one["online"]], ["203.0.113.7:4242", true]);
    assert.deepEqual([other.report, other["online"]], [null, false]);
    await succeed("/agent-mesh/acl/revoke", { as: bob, body: ruleBetween(alice, bob) });
    const left = await rows<[Side, Side]>("mesh", "--paths", "--agent", alice.id);
    assert.deepEqual(left.map((sides) => sides[1].agent_id), [carol.id]);
  },
);

meshTest(
  "mesh --mermaid of a path that does not work → a dotted arrow that says so",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    await report(alice, bob, { via: "none" });
    await report(bob, alice, { via: "none" });
    assert.match(
      await printed("mesh", "--mermaid", "--agent", alice.id),
      / -\.->\|"tcp 443<br\/>does not work"\| /,
    );
  },
);
