import assert from "node:assert/strict";
import {
  agentNames,
  type MeshDatabase,
  meshDatabaseForThisFile,
  Refusal,
  untilDone,
} from "../mesh_database.ts";

const file = meshDatabaseForThisFile();

const AGENTS = agentNames(6);
const ROUNDS = 25;

/** Every agent shares a rule with every other one. */
async function fullMesh(agents: readonly string[]): Promise<MeshDatabase> {
  const { mesh } = file;
  await mesh.startOver();
  for (const agent of agents) await mesh.register(agent);
  for (const [from_agent, to_agent] of pairsOf(agents)) await mesh.put({ from_agent, to_agent });
  return mesh;
}

function pairsOf(agents: readonly string[]): [string, string][] {
  return agents.flatMap((one, index) =>
    agents.slice(index + 1).map((other): [string, string] => [one, other])
  );
}

/** A report about all neighbours, with another endpoint and another order each round. */
function report(mesh: MeshDatabase, agent: string, round: number): Promise<unknown> {
  const others = AGENTS.filter((other) => other !== agent);
  const paths = [...others.slice(round % 5), ...others.slice(0, round % 5)].map((agent_id) => ({
    agent_id,
    endpoint: `203.0.113.${round + 1}:4242`,
    endpoint_ip: `203.0.113.${round + 1}`,
  }));
  return untilDone(() => mesh.heartbeat(agent, paths));
}

Deno.test("all agents report at once, each several times → all succeed, and every side's report is there", async () => {
  const mesh = await fullMesh(AGENTS);
  for (let round = 0; round < ROUNDS; round++) {
    await Promise.all(
      AGENTS.flatMap((agent) => [0, 1, 2].map((time) => report(mesh, agent, round + time))),
    );
  }
  const [rows] = await mesh.owner`select count(*)::integer as reports from mesh.path_reports`;
  assert.equal(rows?.["reports"], AGENTS.length * (AGENTS.length - 1));
  const path = await mesh.pathBetween(AGENTS[0]!, AGENTS[1]!);
  assert.equal(path?.reported_by_self?.works, true);
  assert.equal(path?.reported_by_peer?.works, true);
});

Deno.test("reports while rules are revoked and put again → no error, and shown exactly where a rule is", async () => {
  const mesh = await fullMesh(AGENTS);
  const [one, other] = [AGENTS[0]!, AGENTS[1]!];
  const rule = { from_agent: one, to_agent: other };
  for (let round = 0; round < ROUNDS; round++) {
    await Promise.all([
      untilDone(() => mesh.revoke(rule)),
      ...AGENTS.map((agent) => report(mesh, agent, round)),
    ]);
    await assert.rejects(mesh.pathBetween(one, other), /does not see/);
    await Promise.all([
      untilDone(() => mesh.put(rule)),
      ...AGENTS.map((agent) => report(mesh, agent, round)),
    ]);
    await report(mesh, one, round);
    assert.equal((await mesh.pathBetween(one, other))?.reported_by_self?.works, true);
  }
});

Deno.test("reports while peers are removed, registered, rotated, and get PSKs → no deadlock, and no report without its pair", async () => {
  const mesh = await fullMesh(AGENTS);
  const outcomes: PromiseSettledResult<unknown>[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const removed = AGENTS[round % AGENTS.length]!;
    const others = AGENTS.filter((agent) => agent !== removed);
    outcomes.push(
      ...await Promise.allSettled([
        untilDone(() => mesh.remove(removed)),
        ...AGENTS.flatMap((agent) => [report(mesh, agent, round), report(mesh, agent, round + 1)]),
        untilDone(() => mesh.register(others[0]!)),
        untilDone(() => mesh.rotate(others[1]!, others[2]!)),
        untilDone(async () => await mesh.storePsks((await mesh.configuration(others[3]!))!)),
        untilDone(() =>
          mesh.call("forget_paths", { caller: { kind: "operator" }, max_entries: 10 })
        ),
      ]),
    );
    const [orphans] = await mesh.owner`
      select count(*)::integer as reports
      from mesh.path_reports
      where ${removed} in (agent_id, other_agent)`;
    assert.equal(orphans?.["reports"], 0);
    await mesh.register(removed);
    for (const other of others) await mesh.put({ from_agent: removed, to_agent: other });
  }
  const errors = outcomes.flatMap((outcome) =>
    outcome.status === "rejected" ? [outcome.reason] : []
  );
  // The removed agent has no peer any more, so its calls may be refused.
  assert.deepEqual(
    errors.filter((error) => !(error instanceof Refusal && error.message === "peer_not_found")),
    [],
  );
});

Deno.test("a pair whose lock is held → its report is left out at once, and comes with the next", async () => {
  const mesh = await fullMesh(AGENTS);
  const [one, other, third] = AGENTS as [string, string, string];
  await mesh.owner.begin(async (holding) => {
    await holding`
      select from mesh.pairs where low_agent = ${one} and high_agent = ${other} for update`;
    // If the heartbeat waited for the lock, it would be refused.
    await mesh.heartbeat(one, [{ agent_id: other }, { agent_id: third }]);
    assert.equal((await mesh.pathBetween(one, other))?.reported_by_self, null);
    assert.equal((await mesh.pathBetween(one, third))?.reported_by_self?.works, true);
  });
  await mesh.heartbeat(one, [{ agent_id: other }, { agent_id: third }]);
  assert.equal((await mesh.pathBetween(one, other))?.reported_by_self?.works, true);
});

Deno.test("a heartbeat without paths, while a pair and a report are held → does not wait", async () => {
  const mesh = await fullMesh(AGENTS);
  const [one, other] = AGENTS as [string, string];
  await mesh.heartbeat(one, [{ agent_id: other }]);
  await mesh.owner.begin(async (holding) => {
    await holding`select from mesh.pairs for update`;
    await holding`select from mesh.path_reports for update`;
    const before = await mesh.owner`select ctid, xmin from mesh.path_reports`;
    await mesh.heartbeat(one);
    assert.deepEqual(await mesh.owner`select ctid, xmin from mesh.path_reports`, before);
  });
});
