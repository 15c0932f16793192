/** Two sessions that change an agent's enrolment and what else it has: no deadlock. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type postgres from "postgres";
import { meshDatabaseForThisFile } from "../mesh/mesh_database.ts";
import { putInForce } from "../policy/policy_database.ts";

const file = meshDatabaseForThisFile();
const caller = { kind: "operator", request_id: "test" };

interface Made {
  readonly enrolment_id: string;
  readonly enrolment_key: string;
}

async function put(fields: object): Promise<Made> {
  return await file.mesh.call("put_enrolment", {
    caller,
    enrolment: { kind: "key", session_seconds: 3600, ...fields },
  });
}

function hashOf({ enrolment_key }: Made): string {
  return createHash("sha256").update(enrolment_key).digest("hex");
}

function enrol(made: Made, agent_name: string | null = null) {
  return file.mesh.call<{ agent_id?: string }>("enrol_with_key", {
    caller: { kind: "enrolment", request_id: "test" },
    enrolment_key_hash: hashOf(made),
    agent_name,
  });
}

async function untilWaiting(count: number): Promise<void> {
  for (;;) {
    const [row] = await file.mesh.owner`
      select count(*)::int as waiting from pg_catalog.pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    if (row!["waiting"] >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Runs `meanwhile` while a transaction holds what `hold` locks; it then does `finish`. */
async function whileHeld<Result>(
  { hold, finish }: Record<"hold" | "finish", (sql: postgres.TransactionSql) => Promise<unknown>>,
  meanwhile: () => Promise<readonly Promise<Result>[]>,
): Promise<PromiseSettledResult<Result>[]> {
  let settled: Promise<PromiseSettledResult<Result>[]> | null = null;
  await file.mesh.owner.begin(async (sql) => {
    await hold(sql);
    settled = Promise.allSettled(await meanwhile());
    await finish(sql);
  });
  return await settled!;
}

Deno.test("an agent is erased while its enrolment is revoked → both are done, no deadlock", async () => {
  const { mesh } = file;
  await mesh.startOver();
  const made = await put({ agent_id: "vm" });
  await enrol(made);
  const settled = await whileHeld<unknown>({
    // Both wait for the agent's access, the erasure first.
    hold: (sql) => sql`select pg_advisory_xact_lock(agents.access_lock('vm'))`,
    finish: () => Promise.resolve(),
  }, async () => {
    const erasing = mesh.call("erase_agent", { agent_id: "vm" });
    await untilWaiting(1);
    const revoking = mesh.call("revoke_enrolment", { caller, enrolment_id: made.enrolment_id });
    await untilWaiting(2);
    return [erasing, revoking];
  });
  const reasons = settled.map((one) => one.status === "rejected" ? one.reason.message : "done");
  assert.equal(reasons[0], "done");
  // The erasure has deleted the enrolment, which is for this agent alone.
  assert.match(reasons[1]!, /^(done|invalid_request)$/);
  const left = await mesh.owner`select from agents.enrolments`;
  assert.equal(left.length, 0);
});

Deno.test("an abandoned name is enrolled while another agent's registration takes its addresses → both are done, no deadlock", async () => {
  const { mesh } = file;
  await mesh.startOver();
  await putInForce(mesh, [{ from: "tag:builder", to: "bob" }]);
  await mesh.register("bob");
  const first = await put({ agent_prefix: "vm-", uses_left: null });
  await enrol(first, "vm-1");
  await mesh.register("vm-1");
  await mesh.call("leave", { caller, agent_id: "vm-1" });
  await mesh.call("revoke_enrolment", { caller, enrolment_id: first.enrolment_id });
  await mesh.owner`delete from agents.keys where agent_id = 'vm-1'`;
  const second = await put({ agent_prefix: "vm-", uses_left: null, tags: ["tag:builder"] });
  const settled = await whileHeld({
    // The order of a registration: versions first, then addresses.
    hold: (sql) => sql`select mesh.lock_config_versions(array['bob'])`,
    finish: (sql) =>
      sql`update mesh.address_leases set released_at = now() where agent_id = 'vm-1'`,
  }, async () => {
    const enrolling = enrol(second, "vm-1");
    await untilWaiting(1);
    return [enrolling];
  });
  assert.deepEqual(
    settled.map((one) => one.status === "rejected" ? one.reason.message : one.value.agent_id),
    ["vm-1"],
  );
  const leases = await mesh.owner`select agent_id from mesh.address_leases where agent_id <> 'bob'`;
  assert.match(leases[0]!["agent_id"], /^rested-/);
});

Deno.test("of three agents, one leaves and another enrolment takes one while a revocation waits → it counts one, and ends only that one", async () => {
  const { mesh } = file;
  await mesh.startOver();
  const [first, second] = [
    await put({ agent_prefix: "job-", uses_left: null }),
    await put({ agent_prefix: "job-", uses_left: null }),
  ];
  const names = ["job-1", "job-2", "job-3"];
  for (const name of names) await enrol(first, name);
  await mesh.call("share_agent", { agent_id: "job-2", way: second.enrolment_id });
  const [revocation] = await whileHeld<{ agents: number; keys: number; to_end: string[] }>({
    hold: (sql) =>
      sql`select pg_advisory_xact_lock(l) from (
        select distinct agents.access_lock(n) as l from unnest(${names}::text[]) n order by 1
      ) locks`,
    finish: async (sql) => {
      const meanwhile = { ...caller, kind: "enrolment" };
      await sql`select public.agent_api_leave(${sql.json(caller)}, 'job-1')`;
      await sql`
        select public.agent_api_enrol_with_key(
          ${sql.json(meanwhile)}, ${hashOf(second)}, 'job-2'
        )`;
    },
  }, async () => {
    const revoking = mesh.call<{ agents: number; keys: number; to_end: string[] }>(
      "revoke_enrolment",
      { caller, enrolment_id: first.enrolment_id },
    );
    await untilWaiting(1);
    return [revoking];
  });
  assert.ok(revocation?.status === "fulfilled");
  const { agents, keys, to_end } = revocation.value;
  assert.deepEqual([agents, keys, to_end.toSorted()], [1, 1, ["job-1", "job-3"]]);
  const live = await mesh.owner`
    select agent_id from agents.keys
    where revoked_at is null and agent_id = any (${names})`;
  assert.deepEqual(live.map((row) => row["agent_id"]), ["job-2"]);
});
