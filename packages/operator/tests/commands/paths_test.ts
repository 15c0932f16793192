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

meshTest(
  "mesh why → the first cause, from no peer to a path that works; mesh check tells a disputed path",
  async ({ alice, bob }) => {
    const rule = { from_agent: alice.id, to_agent: bob.id, port: 8080, proto: "tcp" };
    async function why(): Promise<string> {
      const { code, output } = await run("mesh_why", alice.id, bob.id, "8080", "--json");
      const { cause, sentence } = JSON.parse(output);
      assert.equal(code, ["nothing", "unknown"].includes(cause) ? 0 : 1, output);
      assert.match(sentence, new RegExp(`${alice.id}|${bob.id}|rule|path`));
      return cause;
    }
    await join(alice);
    assert.equal(await why(), "no_peer");
    await join(bob);
    assert.equal(await why(), "no_rule");
    await succeed("/agent-mesh/acl/put", { as: alice, body: rule });
    const { code, output } = await run("mesh_why", alice.id, bob.id, "8080/tcp");
    assert.equal(code, 1);
    assert.deepEqual(output.split("\n"), [
      `The rule is not active: ${bob.id} has not agreed to it.`,
      `On ${bob.id}: agentfiles mesh allow ${alice.id} ${bob.id} 8080`,
    ]);
    await agree(rule);
    assert.equal(await why(), "never_seen");
    const heartbeat = async (agent: Agent) =>
      await succeed("/agent-mesh/peer/heartbeat", {
        as: agent,
        body: { config_version: await configVersionOf(agent) },
      });
    await heartbeat(alice);
    await heartbeat(bob);
    assert.equal(await why(), "unknown");
    await report(alice, bob, {});
    await report(bob, alice, { via: "none", handshake_age_seconds: null });
    assert.equal(await why(), "path_disputed");
    const faults = await faultsOf(alice, bob);
    assert.deepEqual(faults.map(({ fault }) => fault), ["path_disputed"]);
    await report(bob, alice, {});
    assert.equal(await why(), "nothing");
    assert.deepEqual(await faultsOf(alice, bob), []);
  },
);

meshTest(
  "a host whose network is taken → mesh check names it once, not its paths; mesh why and mesh --paths name it",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    await report(alice, bob, { via: "none", handshake_age_seconds: null });
    const problem = { code: "network_taken", network: "172.17.0.0/16" };
    await succeed("/agent-mesh/peer/heartbeat", { as: bob, body: { problem } });
    const sentence = `host of ${bob.id} has no tunnel, because its own network 172.17.0.0/16 has`;
    const [fault, ...others] = await faultsOf(alice, bob);
    assert.deepEqual(
      [fault?.["agent_id"], fault?.["fault"], fault?.["network"], others],
      [bob.id, "network_taken", "172.17.0.0/16", []],
    );
    assert.match(
      (await run("mesh_check")).output,
      new RegExp(`^${bob.id}\tnetwork_taken\thas no tunnel, .* 172\\.17\\.0\\.0/16 has`, "m"),
    );
    const rule = ruleBetween(alice, bob);
    const { code, output } = await run("mesh_why", alice.id, bob.id, `${rule.port}/${rule.proto}`);
    assert.deepEqual([code, output.startsWith(`The ${sentence}`)], [1, true], output);
    const paths = await printed("mesh", "--paths", "--agent", alice.id);
    assert.ok(paths.includes(`does not work: the ${sentence}`), paths);
  },
);

meshTest("mesh why of another port → the ports that it may reach", async ({ alice, bob }) => {
  await join(alice);
  await join(bob);
  await agree(ruleBetween(alice, bob));
  const { code, output } = await run("mesh_why", alice.id, bob.id, "53/udp");
  assert.equal(code, 1);
  assert.equal(
    output.split("\n")[0],
    `No rule lets ${alice.id} reach 53/udp of ${bob.id}. It may reach 443/tcp.`,
  );
});

for (
  const [args, problem] of [
    [["a", "b", "0"], /^Name the agent that connects/],
    [["a", "b", "65536"], /^Name the agent that connects/],
    [["a", "b", "80/sctp"], /^Name the agent that connects/],
    [["a", "a", "80"], /^An agent reaches itself without the mesh\.$/],
    [["nobody-at-all", "nobody-else", "80"], /^Nothing names an agent nobody-at-all\./],
  ] as const
) {
  Deno.test(`mesh why ${args.join(" ")} → refused`, async () => {
    const { code, output, errors } = await run("mesh_why", ...args);
    assert.deepEqual([code, output], [1, ""]);
    assert.match(errors.trim(), problem);
  });
}
