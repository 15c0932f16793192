import assert from "node:assert/strict";
import { meshDatabaseForThisFile } from "../mesh/mesh_database.ts";

const file = meshDatabaseForThisFile();

const OPERATOR = { kind: "operator", request_id: "metrics" };

interface MeshMetrics {
  readonly peers: Readonly<Record<"online" | "offline" | "never_seen", number>>;
  readonly peers_behind: number;
  readonly peers_counted_at: number;
  readonly rules: Readonly<Record<"active" | "requested", number>>;
  readonly psks: readonly {
    readonly encryption_key_id: string;
    readonly count: number;
    readonly oldest_made_at: number;
  }[];
}

function readMetrics(): Promise<MeshMetrics> {
  return file.mesh.call("read_mesh_metrics", { caller: OPERATOR, online_seconds: 90 });
}

/** Makes the last census old, so that the next call counts peers again. */
async function endLastCensus(): Promise<void> {
  await file.mesh.owner`
    update mesh.censuses set counted_at = now() - interval '2 minutes' where census = 'last'`;
}

Deno.test("read_mesh_metrics after rules come, are agreed and go → what there is", async () => {
  const { mesh } = file;
  await mesh.startOver();
  await Promise.all(["a", "b", "c"].map((agent) => mesh.register(agent)));
  assert.deepEqual((await readMetrics()).rules, { active: 0, requested: 0 });
  await mesh.put({ from_agent: "a", to_agent: "b" });
  await mesh.put({ from_agent: "b", to_agent: "c" }, await mesh.callerOf("b"));
  assert.deepEqual((await readMetrics()).rules, { active: 1, requested: 1 });
  await mesh.put({ from_agent: "b", to_agent: "c" }, await mesh.callerOf("c"));
  assert.deepEqual((await readMetrics()).rules, { active: 2, requested: 0 });
  await mesh.revoke({ from_agent: "a", to_agent: "b" });
  assert.deepEqual((await readMetrics()).rules, { active: 1, requested: 0 });
  await mesh.remove("b");
  assert.deepEqual((await readMetrics()).rules, { active: 0, requested: 0 });
});

Deno.test("read_mesh_metrics after PSKs are made, rotated, re-encrypted and removed → their number by key, and the oldest", async () => {
  const { mesh } = file;
  await mesh.startOver();
  await Promise.all(["a", "b", "c"].map((agent) => mesh.register(agent)));
  await mesh.put({ from_agent: "a", to_agent: "b" });
  await mesh.put({ from_agent: "a", to_agent: "c" });
  assert.deepEqual((await readMetrics()).psks, []);
  const key = "0123456789abcdef";
  const psks = ["b", "c"].map((agent_id) => ({
    agent_id,
    psk_version: 1,
    encrypted_psk: `v1.${key}.${agent_id}${agent_id}`,
  }));
  await mesh.call("store_psks", { caller: OPERATOR, agent_id: "a", psks });
  const [made, ...others] = (await readMetrics()).psks;
  assert.deepEqual([made!.encryption_key_id, made!.count, others], [key, 2, []]);
  const [oldest] = await mesh.owner`select extract(epoch from min(made_at)) as at from mesh.pairs`;
  assert.equal(made!.oldest_made_at.toFixed(3), Number(oldest!["at"]).toFixed(3));

  const newer = "fedcba9876543210";
  await mesh.call("reencrypt_psks", {
    psks: [{
      low_agent: "a",
      high_agent: "b",
      encrypted_psk: `v1.${key}.bb`,
      reencrypted_psk: `v1.${newer}.bb`,
    }],
  });
  const countsByKey = async () =>
    (await readMetrics()).psks.map(({ encryption_key_id, count }) => [encryption_key_id, count]);
  assert.deepEqual(await countsByKey(), [[key, 1], [newer, 1]]);
  await mesh.rotate("a", "c");
  assert.deepEqual(await countsByKey(), [[newer, 1]]);
  await mesh.remove("b");
  assert.deepEqual(await countsByKey(), []);
});

Deno.test("read_mesh_metrics → peers by state as of the last count, which is a minute old at most", async () => {
  const { mesh } = file;
  await mesh.startOver();
  await mesh.owner`delete from mesh.censuses`;
  await Promise.all(["a", "b", "c", "d"].map((agent) => mesh.register(agent)));
  await mesh.put({ from_agent: "a", to_agent: "b" });
  await mesh.owner`
    update mesh.liveness set last_seen = now(), config_version_applied = 0 where agent_id in ('a', 'b')`;
  await mesh.owner`
    update mesh.liveness set last_seen = now() - interval '1 hour', config_version_applied = 0
    where agent_id = 'c'`;
  const first = await readMetrics();
  assert.deepEqual(first.peers, { online: 2, offline: 1, never_seen: 1 });
  assert.equal(first.peers_behind, 2);

  await mesh.owner`
    update mesh.liveness l set last_seen = now(), config_version_applied = v.version
    from mesh.config_versions v where v.agent_id = l.agent_id and l.agent_id <> 'a'`;
  assert.deepEqual(await readMetrics(), first);
  await endLastCensus();
  const second = await readMetrics();
  assert.deepEqual(second.peers, { online: 4, offline: 0, never_seen: 0 });
  assert.equal(second.peers_behind, 1);
  assert.ok(second.peers_counted_at > first.peers_counted_at);
});

Deno.test("more peers than one call counts → the answer stays until all are counted, then has them all", async () => {
  const { mesh } = file;
  await mesh.startOver();
  await mesh.owner`delete from mesh.censuses`;
  await Promise.all(["a", "b", "c", "d", "e"].map((agent) => mesh.register(agent)));
  const onlineAfterStep = async () => {
    await mesh.owner`select mesh.continue_census(90, 2)`;
    const [last] = await mesh.owner`
      select never_seen::integer from mesh.censuses where census = 'last'`;
    return last?.["never_seen"];
  };
  assert.deepEqual([await onlineAfterStep(), await onlineAfterStep()], [undefined, undefined]);
  assert.equal(await onlineAfterStep(), 5);
  assert.deepEqual([...await mesh.owner`select from mesh.censuses where census = 'under way'`], []);
});

Deno.test("read_mesh_metrics by an agent → forbidden, and nothing is counted", async () => {
  const { mesh } = file;
  await mesh.startOver();
  await mesh.owner`delete from mesh.censuses`;
  const caller = await mesh.callerOf("a");
  await assert.rejects(mesh.call("read_mesh_metrics", { caller, online_seconds: 90 }), /forbidden/);
  assert.deepEqual([...await mesh.owner`select from mesh.censuses`], []);
});
