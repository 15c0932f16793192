/** How long requests wait for locks, and how they end. */
import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import type { LockedDatabase } from "../operations/card.ts";
import { ALL_CARDS } from "../operations/cards.ts";
import { meshDatabaseForThisFile, randomPubkey, Refusal } from "./mesh/mesh_database.ts";

const file = meshDatabaseForThisFile();
const OPERATOR = { kind: "operator", request_id: "test" };

const rule = { from_agent: "alice", to_agent: "bob", port: 1 };
const agentAs = (agent: string) => file.mesh.callerOf(agent);

const WAITS = Array.from(ALL_CARDS, ({ lockWaits }) => lockWaits).flat();

function lockedDatabase(): LockedDatabase {
  return { mesh: file.mesh, artifactIdOf, registerArtifact, deleteArtifact };
}

for (const { held, hold, functionName, refused, passes } of WAITS) {
  Deno.test(`${functionName} while somebody holds ${held} → lock_not_available, nothing changes, others go on`, async () => {
    await arrange();
    const on = lockedDatabase();
    await file.mesh.owner.begin(async (sql) => {
      await hold(sql, on);
      await passes(on);
      const before = await everything();
      await assert.rejects(refused(on), (error) => {
        assert.ok(error instanceof Refusal);
        assert.equal(error.sqlstate, "55P03", error.message);
        return true;
      });
      assert.deepEqual(await everything(), before);
    });
    await refused(on).catch((error: unknown) => {
      // Without the lock, the operation works, except for the commit: its lease is invented.
      assert.equal((error as Refusal).message, "commit_in_progress");
    });
  });
}

Deno.test("more changes of one agent at once than it has turns → refused without waiting, nothing changes; others and the operator go on", async () => {
  const { mesh } = file;
  await arrange();
  const [alice, bob] = [await agentAs("alice"), await agentAs("bob")];
  await mesh.owner.begin(async (sql) => {
    await sql`
      select pg_advisory_xact_lock(hashtextextended('mesh turn ' || turn || ' of alice', 0))
      from generate_series(1, 4) turn`;
    const changes: Record<string, object> = {
      put_rule: { ...rule, proto: "tcp" },
      revoke_rule: { ...rule, proto: "tcp", port: 443 },
      rotate_psk: { a: "alice", b: "bob" },
      remove_peer: { agent_id: "alice" },
      register_peer: {
        agent_id: "alice",
        pubkey: randomPubkey(),
        endpoint: null,
        endpoint_ip: null,
        listen_port: null,
        online_seconds: 90,
      },
    };
    const before = await everything();
    for (const [name, parameters] of Object.entries(changes)) {
      await assert.rejects(mesh.call(name, { caller: alice, ...parameters }), (error) => {
        assert.ok(error instanceof Refusal);
        assert.deepEqual([error.sqlstate, error.message], ["PT503", "upstream_unavailable"]);
        return true;
      }, name);
    }
    assert.deepEqual(await everything(), before);
    await mesh.put(rule, bob);
    await mesh.put({ ...rule, port: 2 });
  });
  await mesh.put(rule, alice);
});

Deno.test("every function that is called for agents and may wait for a lock → waits a second at most", async () => {
  const rows = await file.mesh.owner<{ name: string }[]>`
    select split_part(proname, 'agent_api_', 2) as name
    from pg_proc
    where pronamespace = 'public'::regnamespace
      and provolatile = 'v'
      and 'lock_timeout=1s' <> all (coalesce(proconfig, '{}'))
    order by proname collate "C"`;
  assert.deepEqual(rows.map(({ name }) => name), [
    "after_restore",
    "apply_policy",
    "collect_dead_objects",
    "create_agent_key",
    "create_agent_keys",
    "end_artifacts",
    "end_enrolled_agent",
    "end_idle_agent",
    "erase_agent",
    "forget_ended",
    "forget_enrolled",
    "forget_events",
    "forget_paths",
    "forget_usage",
    "keep_out_erased",
    "mark_lost_artifacts",
    "note_replayed_event",
    "put_enrolment",
    "readmit_agent",
    "record_surplus_uploads",
    "reencrypt_psks",
    "remove_agent",
    "repair_project_totals",
    "repair_totals",
    "replace_pubkey",
    "revoke_agent_key",
    "revoke_agent_keys",
    "revoke_enrolment",
    "schedule_sweep",
    "set_agent_quota",
    "set_agent_tags",
    "set_enrolment_limits",
    "set_mesh_network",
    "settle_changes",
    "settle_reads",
    "settle_tasks",
    "share_agent",
    "take_over_agent",
  ]);
});

/** Makes alice and bob peers with a rule and a PSK, and gives each an artifact. */
async function arrange(): Promise<void> {
  const { mesh } = file;
  await mesh.startOver();
  await mesh.owner`truncate artifacts.artifacts cascade`;
  await mesh.put({ from_agent: "alice", to_agent: "bob" });
  for (const agent of ["alice", "bob"]) {
    await mesh.register(agent);
    await registerArtifact(agent, artifactIdOf(agent));
  }
  const state = await mesh.configuration("alice");
  await mesh.storePsks(state!);
}

function artifactIdOf(agent: string): string {
  return `art_${createHash("md5").update(agent).digest("hex")}`;
}

function registerArtifact(
  agent_id: string,
  artifact_id = artifactIdOf(randomUUID()),
): Promise<unknown> {
  return file.mesh.call("register_artifact", {
    caller: OPERATOR,
    artifact_id,
    agent_id,
    key: "file",
    mime: "text/plain",
    size: 1,
    ttl_days: 1,
    quota_bytes: 0,
    max_pending: 100,
  });
}

function deleteArtifact(agent: string): Promise<unknown> {
  return file.mesh.call("delete_artifact", {
    caller: OPERATOR,
    artifact_id: artifactIdOf(agent),
  });
}

/** Every row of the project's tables, as text. */
async function everything(): Promise<string[]> {
  const { owner } = file.mesh;
  const tables = await owner<{ name: string }[]>`
    select relation::regclass::text as name
    from (
      select c.oid as relation from pg_class c
      where c.relkind = 'r' and c.relnamespace::regnamespace::text = any (agents.own_schemas())
    ) tables
    order by 1`;
  const rows = await Promise.all(
    tables.map(({ name }) => owner.unsafe(`select t::text as row from ${name} t order by 1`)),
  );
  return rows.flat().map(({ row }) => String(row));
}
