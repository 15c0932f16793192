import assert from "node:assert/strict";
import {
  artifactTest,
  grant,
  publish,
  tryRegister,
} from "../../../../tests/conformance/artifacts.ts";
import { succeed } from "../../../../tests/conformance/client.ts";
import { meshTest, pairUp } from "../../../../tests/conformance/mesh_cast.ts";
import { newTag } from "../../../../tests/conformance/tags/tagged.ts";
import { runTask } from "../../../local/tests/stack/stack_process.ts";
import { withStackDatabase } from "../../../../tests/database/connection.ts";
import { parseRows, run } from "./run_report.ts";

artifactTest(
  "agent remove without --yes and without a terminal → refused with the counts, exit code 2, nothing changed; --dry-run → the counts alone",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    await grant(planner, artifact, { to: builder });
    const everything = () =>
      withStackDatabase((sql) =>
        sql`select k::text from agents.keys k where agent_id = ${planner.id}
          union all select g::text from artifacts.grants g where from_agent = ${planner.id}
          union all select a::text from artifacts.artifacts a where agent_id = ${planner.id}
          union all select r::text from agents.removed_agents r where agent_id = ${planner.id}`
      );
    const before = await everything();
    const refused = await runTask("agentops agent remove", { args: [planner.id] });
    assert.deepEqual([refused.code, refused.output], [2, ""]);
    assert.match(refused.errors, /This ends 1 agent keys, 1 grants, 1 files of .* pass --yes/);
    const dry = await runTask("agentops agent remove", {
      args: [planner.id, "--dry-run"],
    });
    assert.deepEqual([dry.code, dry.errors], [0, ""]);
    assert.match(dry.output, /^Would end: 1 agent keys, 1 grants, 1 files of /);
    assert.deepEqual(await everything(), before);
    const done = await runTask("agentops agent remove", { args: [planner.id, "--yes"] });
    assert.deepEqual(JSON.parse(done.output), { keys: 1, peer: false, grants: 1, artifacts: 1 });
  },
);

artifactTest(
  "grants revoke --by --since → those grants alone; without --yes → refused, and nothing changed",
  async ({ planner, builder, stranger }) => {
    const artifact = await publish(planner);
    const older = await grant(planner, artifact, { to: builder });
    const since = new Date().toISOString();
    const newer = await grant(planner, artifact, { to: stranger });
    const task = (...args: string[]) =>
      runTask("agentops grants revoke", { args: ["--by", planner.id, ...args] });
    const live = async () =>
      parseRows<{ grant_id: string }>((await run("grants", "--of", planner.id, "--json")).output)
        .map(({ grant_id }) => grant_id).sort();
    const refused = await task("--since", since);
    assert.deepEqual([refused.code, refused.output], [2, ""]);
    assert.match(
      refused.errors,
      /This ends 1 live grants by .*, to 1 readers\. Nothing was changed: pass --yes to do it at http:\/\/127\.0\.0\.1:\d+\./,
    );
    assert.match((await task("--dry-run")).output, /^Would end: 2 live grants by /);
    assert.deepEqual(await live(), [older.grant_id, newer.grant_id].sort());
    const done = await task("--since", since, "--yes", "--json");
    assert.deepEqual(JSON.parse(done.output), { revoked: 1 });
    assert.deepEqual(await live(), [older.grant_id]);
    const nobody = await runTask("agentops grants revoke", { args: ["--yes"] });
    assert.equal(nobody.code, 2);
    // Grants to a tag are revoked too.
    const expires_at = older.expires_at;
    await succeed("/agent-artifacts/grant", {
      as: planner,
      body: { artifact_id: artifact.artifact_id, to_tag: newTag(), expires_at },
    });
    assert.deepEqual(JSON.parse((await task("--yes", "--json")).output), { revoked: 2 });
    assert.deepEqual(await live(), []);
  },
);

meshTest("psk rotate --all and of one pair → a new PSK of each pair", async ({ alice, bob }) => {
  await pairUp(alice, bob);
  const version = async () => {
    const [pair] = await withStackDatabase((sql) =>
      sql`select psk_version as version from mesh.pairs
        where ${alice.id} in (low_agent, high_agent)`
    );
    return Number(pair?.["version"] ?? 0);
  };
  // The first configuration creates the pair's first PSK.
  await succeed("/agent-mesh/wg_config", { as: alice });
  const before = await version();
  const dry = await runTask("agentops psk rotate", { args: [alice.id, "--dry-run"] });
  assert.match(dry.output, /^Would rotate 1 PSKs/);
  assert.equal(await version(), before);
  const one = await runTask("agentops psk rotate", {
    args: [alice.id, bob.id, "--json"],
  });
  assert.deepEqual(JSON.parse(one.output), { rotated: 1, failed: 0 });
  assert.equal(await version(), before + 1);
  await succeed("/agent-mesh/wg_config", { as: bob });
  await runTask("agentops psk rotate", { args: ["--all"] });
  assert.equal(await version(), before + 2);
  for (const args of [[], [alice.id, "--all"]]) {
    assert.equal((await runTask("agentops psk rotate", { args })).code, 2);
  }
});

artifactTest(
  "agent limit → the agent's own quota holds and shows; none → the project's again; a wrong one → refused",
  async ({ planner, builder }) => {
    const limit = (quota: string) =>
      runTask("agentops agent limit", { args: [planner.id, "--quota", quota] });
    await publish(planner, { content: "x".repeat(900) });
    assert.equal((await limit("1K")).output, `${planner.id} may hold 1.0 KiB.`);
    const sized = (agent: typeof planner) =>
      tryRegister(agent, {
        agent_id: agent.id,
        key: "k",
        mime: "text/plain",
        size: 200,
        ttl_days: 1,
      });
    const refused = await sized(planner);
    assert.equal(refused.status, 409, JSON.stringify(refused.body));
    assert.deepEqual((await sized(builder)).status, 200, "others have the project's");
    assert.match(
      (await run("agent_show", planner.id)).output,
      /900 B of 1\.0 KiB \(its own quota\)/,
    );
    for (const wrong of ["5X", "-1", "", "1.5G"]) {
      const { code, output } = await limit(wrong);
      assert.deepEqual([code, output], [2, ""], wrong);
    }
    assert.equal((await sized(planner)).status, 409);
    assert.equal((await limit("none")).output, `${planner.id} has the project's quota.`);
    assert.equal((await sized(planner)).status, 200);
  },
);
