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

/** The agent says that it runs the version that is due, so many older. */
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
