import assert from "node:assert/strict";
import { meshDatabaseForThisFile } from "../mesh/mesh_database.ts";

const own = meshDatabaseForThisFile();
const ENDPOINT = { endpoint: "198.51.100.7:51820", endpoint_ip: "198.51.100.7" };

interface Fault {
  readonly agent_id: string;
  readonly fault: string;
  readonly other_agent_id?: string;
  readonly [fact: string]: unknown;
}

async function check(parameters: Record<string, unknown> = {}): Promise<readonly Fault[]> {
  const page = await own.mesh.call<{ found: Fault[]; next: string | null }>("check_mesh", {
    max_entries: 100,
    ...parameters,
  });
  return page.found;
}

/** A heartbeat that reports the current version minus `older`. */
async function beat(agent_id: string, older = 0): Promise<void> {
  const caller = await own.mesh.callerOf(agent_id);
  const { config_version } = await own.mesh.call<{ config_version: number }>("record_heartbeat", {
    caller,
    agent_id,
    config_version: null,
  });
  await own.mesh.call("record_heartbeat", {
    caller,
    agent_id,
    config_version: config_version - older,
  });
}

Deno.test("check_mesh of peers that are up, with a request and rules between them → nothing", async () => {
  await own.mesh.startOver();
  for (const agent of ["a", "b"]) await own.mesh.register(agent);
  await own.mesh.put({ from_agent: "a", to_agent: "b" });
  await own.mesh.put({ from_agent: "a", to_agent: "nobody" }, await own.mesh.callerOf("a"));
  for (const agent of ["a", "b"]) await beat(agent);
  assert.deepEqual(await check(), []);
});

Deno.test("check_mesh → a peer that never came up, one that lags, a rule without a peer, a shared endpoint, each with what to look at", async () => {
  await own.mesh.startOver();
  await own.mesh.register("a", ENDPOINT);
  await own.mesh.register("b", ENDPOINT);
  await own.mesh.register("c");
  await own.mesh.put({ from_agent: "a", to_agent: "b" });
  await own.mesh.put({ from_agent: "c", to_agent: "missing" });
  await beat("a");
  await beat("b", 1);

  const faults = await check();
  assert.deepEqual(
    faults.map(({ agent_id, fault, other_agent_id = null }) => [agent_id, fault, other_agent_id]),
    [
      ["b", "version_lags", null],
      ["b", "endpoint_shared", "a"],
      ["c", "never_seen", null],
      ["missing", "rule_without_peer", "c"],
    ],
  );
  const [lags, shared, never] = faults;
  assert.equal(Number(lags!["config_version"]) - Number(lags!["config_version_applied"]), 1);
  assert.match(String(lags!["last_seen"]), /^\d{4}-.*Z$/);
  assert.equal(shared!["endpoint"], ENDPOINT.endpoint);
  assert.match(String(never!["registered_at"]), /^\d{4}-.*Z$/);
});

Deno.test("check_mesh of a peer that reports a problem → that alone, until a heartbeat without", async () => {
  await own.mesh.startOver();
  await own.mesh.register("a");
  const caller = await own.mesh.callerOf("a");
  const report = (problem: object | null) =>
    own.mesh.call("record_heartbeat", { caller, agent_id: "a", config_version: 0, problem });
  await report({ code: "network_taken", network: "172.17.0.0/16" });
  const [fault, ...others] = await check();
  const { last_seen, ...facts } = fault!;
  assert.deepEqual([facts, others], [
    { agent_id: "a", fault: "network_taken", network: "172.17.0.0/16" },
    [],
  ]);
  assert.match(String(last_seen), /^\d{4}-.*Z$/);
  await report(null);
  assert.deepEqual((await check()).map(({ fault }) => fault), ["version_lags"]);
});

Deno.test("check_mesh of what agents say they run, under another rendering → it lags by that", async () => {
  await own.mesh.startOver();
  await own.mesh.register("a");
  await beat("a");
  assert.deepEqual(
    (await check({ rendering_revision: 2 })).map(({ fault }) => fault),
    ["version_lags"],
  );
});

Deno.test("check_mesh after a peer and its rules were removed → nothing", async () => {
  await own.mesh.startOver();
  await own.mesh.register("a");
  await own.mesh.register("b");
  await own.mesh.put({ from_agent: "a", to_agent: "b" });
  await beat("a");
  await own.mesh.remove("b");
  await beat("a");
  assert.deepEqual(await check(), []);
});

Deno.test("read_mesh_metrics and check_mesh of fifty peers, five of them behind and one by the rendering revision → five, by both", async () => {
  await own.mesh.startOver();
  const parameters = { online_seconds: 90, rendering_revision: 2 };
  const names = Array.from({ length: 50 }, (_, index) => `peer-${10 + index}`);
  for (const agent of names) await own.mesh.register(agent);
  // The version that the functions send is the state's version plus their rendering revision.
  await own.mesh.owner`
    update mesh.liveness l set last_seen = now(), config_version_applied = v.version + 2
    from mesh.config_versions v where v.agent_id = l.agent_id`;
  await own.mesh.owner`
    update mesh.liveness l set config_version_applied = l.config_version_applied - case l.agent_id
      when 'peer-10' then 2 else 1 end
    where l.agent_id between 'peer-10' and 'peer-14'`;
  // The metric counts neither offline peers nor peers that never reported a version.
  await own.mesh.owner`
    update mesh.liveness l set last_seen = now() - interval '1 hour', config_version_applied = 1
    where l.agent_id = 'peer-20'`;
  await own.mesh.owner`
    update mesh.liveness l set config_version_applied = null where l.agent_id = 'peer-21'`;

  const faults = await check(parameters);
  const { peers_behind } = await own.mesh.call<{ peers_behind: number }>("read_mesh_metrics", {
    caller: { kind: "operator", request_id: "test" },
    ...parameters,
  });
  const behind = ["peer-10", "peer-11", "peer-12", "peer-13", "peer-14"];
  assert.deepEqual(
    faults.map(({ agent_id, fault }) => [agent_id, fault]),
    [...behind.map((agent) => [agent, "version_lags"]), ["peer-20", "offline_lags"]],
  );
  assert.equal(peers_behind, behind.length);
  const { found } = await own.mesh.call<{
    found: { agent_id: string; online: boolean; lags: boolean | null }[];
  }>("list_peers", { max_entries: 100, ...parameters });
  assert.deepEqual(
    found.filter(({ online, lags }) => online && lags).map(({ agent_id }) => agent_id),
    behind,
  );
});
