import assert from "node:assert/strict";
import { MeshDatabase, Refusal } from "../mesh/mesh_database.ts";
import { callAsService, withProjectDatabase } from "../connection.ts";

/** PostgreSQL's lock_not_available. */
const LOCK_TIMEOUT = "55P03";

const OPERATOR = { kind: "operator", request_id: "test" };

interface Begun {
  readonly epoch: string;
  readonly first_config_version: number;
}

async function withMesh(run: (mesh: MeshDatabase) => Promise<void>): Promise<void> {
  const mesh = await MeshDatabase.create();
  try {
    await run(mesh);
  } finally {
    await mesh.drop();
  }
}

/** Calls again what waited too long for a lock, as a caller of the service does. */
async function patiently<Result>(call: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1;; attempt++) {
    try {
      return await call();
    } catch (error) {
      const isBusy = error instanceof Refusal && error.sqlstate === LOCK_TIMEOUT;
      if (!isBusy || attempt === 10) throw error;
    }
  }
}

async function versionOf(mesh: MeshDatabase, agent: string): Promise<number> {
  return (await mesh.configuration(agent))!.config_version;
}

Deno.test("after_restore() → every config_version is beyond what was handed out, also after a second one, also of agents that register later; in 15 digits", async () => {
  await withMesh(async (mesh) => {
    await mesh.register("alice");
    await mesh.register("bob");
    await mesh.put({ from_agent: "alice", to_agent: "bob" });
    const before = await versionOf(mesh, "bob");
    const first = await mesh.call<Begun>("after_restore", {});
    assert.ok(first.first_config_version > before);
    assert.deepEqual([await versionOf(mesh, "alice"), await versionOf(mesh, "bob")], [
      first.first_config_version,
      first.first_config_version,
    ]);

    for (let port = 1; port <= 20; port++) {
      await mesh.put({ from_agent: "alice", to_agent: "bob", port });
    }
    await mesh.register("carol");
    const handedOut = await Promise.all(["alice", "bob", "carol"].map((a) => versionOf(mesh, a)));
    assert.ok(handedOut[2]! > first.first_config_version, "a new agent begins behind the epoch's");
    const second = await mesh.call<Begun>("after_restore", {});
    assert.notEqual(second.epoch, first.epoch);
    assert.ok(second.first_config_version > Math.max(...handedOut));
    assert.match(String(second.first_config_version), /^[0-9]{15}$/, "as long as hosts take");
    for (const agent of ["alice", "bob", "carol"]) {
      assert.equal(await versionOf(mesh, agent), second.first_config_version);
    }
  });
});

Deno.test("after_restore() on a host whose clock went back → still beyond what was handed out", async () => {
  await withMesh(async (mesh) => {
    await mesh.register("alice");
    const ahead = 800_000_000_000_000;
    await mesh.owner`update mesh.config_versions set version = ${ahead}`;
    const begun = await mesh.call<Begun>("after_restore", {});
    assert.equal(begun.first_config_version, ahead + 1);
    assert.equal(await versionOf(mesh, "alice"), ahead + 1);
  });
});

Deno.test("after_restore() beside registrations and rules → no version stays below the epoch's", async () => {
  await withMesh(async (mesh) => {
    const names = Array.from({ length: 24 }, (_, index) => `agent-${index}`);
    const [begun] = await Promise.all([
      patiently(() => mesh.call<Begun>("after_restore", {})),
      ...names.map((name) => patiently(() => mesh.register(name))),
      ...names.slice(1).map((to_agent) =>
        patiently(() => mesh.put({ from_agent: "agent-0", to_agent }))
      ),
    ]);
    for (const name of names) {
      assert.ok(await versionOf(mesh, name) >= begun.first_config_version, name);
    }
  });
});

Deno.test("after_restore() → an event for the operator; a request that waits from an older position is answered", async () => {
  await withProjectDatabase({}, async (sql) => {
    const inbox = await callAsService<{ latest: string }>(sql, "list_inbox", {
      caller: OPERATOR,
      agent_id: "builder",
      max_entries: 10,
      after_grant_id: null,
    });
    const events = await callAsService<{ latest: string }>(sql, "find_events", { max_entries: 1 });
    const waits = [
      { kind: "inbox", caller: OPERATOR, agent_id: "builder", after: inbox.latest },
      {
        kind: "events",
        caller: OPERATOR,
        agent_id: null,
        types: ["artifact.committed"],
        after: events.latest,
      },
    ];
    const changed = async () =>
      (await callAsService<{ changed: number[] }>(sql, "find_changes", { waits: sql.json(waits) }))
        .changed;
    assert.deepEqual(await changed(), []);
    const begun = await callAsService<Begun>(sql, "after_restore", {});
    assert.deepEqual(await changed(), [0, 1]);
    const rows = await sql`
      select actor_kind, details ->> 'epoch' as epoch from agents.events
      where action = 'epoch.begun' and subject_agent_id is null`;
    assert.deepEqual([...rows], [{ actor_kind: "operator", epoch: begun.epoch }]);
  });
});
