/** How many bytes the agents of an enrolment may hold together, whatever races. */
import assert from "node:assert/strict";
import postgres from "postgres";
import { callAsService, urlOf, withProjectDatabase } from "../connection.ts";
import { holdTransaction } from "../changes/held_transaction.ts";
import { enrolAs, heldBy, makeEnrolment, OPERATOR, registerFor } from "./quota_database.ts";

/** The details of a refusal for the quota. */
async function refusalOf(registering: Promise<unknown>): Promise<unknown> {
  const [outcome] = await Promise.allSettled([registering]);
  assert.equal(outcome.status, "rejected", "registered");
  const { message, detail } = (outcome as PromiseRejectedResult).reason;
  assert.equal(message, "quota_exceeded");
  return JSON.parse(detail);
}

async function rowsOf(sql: postgres.Sql) {
  return await sql`
    select (select json_agg(a order by a.artifact_id) from artifacts.artifacts a) artifacts,
      (select json_agg(t order by t.agent_id) from artifacts.totals t) totals,
      (select json_agg(e order by e.enrolment_id) from artifacts.enrolment_totals e) of_enrolments,
      (select count(*) from agents.events) events`;
}

Deno.test("register_artifact beyond the enrolment's quota, by another of its agents → quota_exceeded, and nothing has changed; what fits, and other agents → registered", async () => {
  await withProjectDatabase({}, async (sql) => {
    const enrolment = await makeEnrolment(sql, { quota_bytes: 100 });
    const [first, second] = [
      await enrolAs(sql, enrolment, "vm-1"),
      await enrolAs(sql, enrolment, "vm-2"),
    ];
    const other = await enrolAs(sql, await makeEnrolment(sql, { agent_prefix: "pc-" }), "pc-1");
    await registerFor(sql, first, 60);
    // An agent's first registration, and a later one.
    for (let time = 0; time < 2; time++) {
      const before = await rowsOf(sql);
      assert.deepEqual(await refusalOf(registerFor(sql, second, 41 - 10 * time)), {
        limit: "bytes_of_enrolment",
        quota_bytes: 100,
        held_bytes: 60 + 10 * time,
      });
      // The operator acts for the agent: its bytes count, too.
      await refusalOf(registerFor(sql, { agent_id: second.agent_id }, 41));
      assert.deepEqual(await rowsOf(sql), before);
      if (time === 0) await registerFor(sql, second, 10);
    }
    await registerFor(sql, second, 30);
    assert.equal(await heldBy(sql, enrolment), 100);
    await registerFor(sql, first, 0);
    await refusalOf(registerFor(sql, first, 1));
    await registerFor(sql, other, 1000);
    await registerFor(sql, { agent_id: "planner" }, 1000);
  });
});

Deno.test("20 agents of an enrolment that register at the same time, with room for 10 → exactly 10, and the others quota_exceeded", async () => {
  await withProjectDatabase({}, async (sql) => {
    const enrolment = await makeEnrolment(sql, { quota_bytes: 100 });
    const agents = [];
    for (let n = 0; n < 20; n++) agents.push(await enrolAs(sql, enrolment, `vm-${n}`));
    const many = postgres(await urlOf(sql), { max: 20, onnotice: () => {} });
    const outcomes = await Promise.allSettled(agents.map((agent) => registerFor(many, agent, 10)));
    await many.end();
    const refused = outcomes.flatMap((outcome) =>
      outcome.status === "rejected" ? [outcome.reason.message] : []
    );
    assert.deepEqual(refused, Array(10).fill("quota_exceeded"));
    assert.equal(await heldBy(sql, enrolment), 100);
  });
});

Deno.test("an enrolment without a quota of its own → ten times the project's; 0, or a project without a quota → none", async () => {
  await withProjectDatabase({}, async (sql) => {
    const [usual, free] = [
      await makeEnrolment(sql),
      await makeEnrolment(sql, { quota_bytes: 0, agent_prefix: "free-" }),
    ];
    for (let n = 0; n < 10; n++) {
      await registerFor(sql, await enrolAs(sql, usual, `vm-${n}`), 50, 50);
    }
    const last = await enrolAs(sql, usual, "vm-last");
    assert.deepEqual(await refusalOf(registerFor(sql, last, 1, 50)), {
      limit: "bytes_of_enrolment",
      quota_bytes: 500,
      held_bytes: 500,
    });
    await registerFor(sql, last, 1);
    for (let n = 0; n < 11; n++) {
      await registerFor(sql, await enrolAs(sql, free, `free-${n}`), 50, 50);
    }
  });
});

Deno.test("an agent with a quota of its own → the enrolment's holds, too, and each refusal says which", async () => {
  await withProjectDatabase({}, async (sql) => {
    const enrolment = await makeEnrolment(sql, { quota_bytes: 100 });
    const agent = await enrolAs(sql, enrolment, "vm-1");
    const { agent_id } = agent;
    await callAsService(sql, "set_agent_quota", { agent_id, quota_bytes: 50 });
    assert.deepEqual(await refusalOf(registerFor(sql, agent, 51)), {
      quota_bytes: 50,
      held_bytes: 0,
    });
    // Any number of bytes, as far as the agent's own quota goes.
    await callAsService(sql, "set_agent_quota", { agent_id, quota_bytes: 0 });
    assert.deepEqual(await refusalOf(registerFor(sql, agent, 101, 10)), {
      limit: "bytes_of_enrolment",
      quota_bytes: 100,
      held_bytes: 0,
    });
    await registerFor(sql, agent, 100, 10);
  });
});

Deno.test("set_enrolment_limits → the new quota holds; lower than the current use: nothing ends; null: the default; limits that are left out stay", async () => {
  await withProjectDatabase({}, async (sql) => {
    const enrolment = await makeEnrolment(sql, { quota_bytes: 100, max_agents: 2 });
    const { enrolment_id } = enrolment;
    const limit = (limits: object) =>
      callAsService(sql, "set_enrolment_limits", { caller: OPERATOR, enrolment_id, limits });
    const agent = await enrolAs(sql, enrolment, "vm-1");
    await registerFor(sql, agent, 100);
    const { quota_bytes, max_agents } = await limit({ quota_bytes: 150 });
    assert.deepEqual([quota_bytes, max_agents], [150, 2]);
    await registerFor(sql, agent, 50);
    await limit({ quota_bytes: 10 });
    await refusalOf(registerFor(sql, agent, 1));
    assert.equal(await heldBy(sql, enrolment), 150);
    await limit({ quota_bytes: null });
    await registerFor(sql, agent, 1);

    await enrolAs(sql, enrolment, "vm-2");
    await assert.rejects(enrolAs(sql, enrolment, "vm-3"), /too_many_agents/);
    await limit({ max_agents: 3 });
    await enrolAs(sql, enrolment, "vm-3");
    assert.equal((await limit({ max_agents: 1 }))["quota_bytes"], null);
    await assert.rejects(enrolAs(sql, enrolment, "vm-4"), /too_many_agents/);
    await enrolAs(sql, enrolment, "vm-2");
    await registerFor(sql, agent, 1);
  });
});

Deno.test("set_enrolment_limits by an agent, of no enrolment, of a wrong number → refused, and nothing has changed", async () => {
  await withProjectDatabase({}, async (sql) => {
    const enrolment = await makeEnrolment(sql);
    const { caller } = await enrolAs(sql, enrolment, "vm-1");
    const { enrolment_id } = enrolment;
    const state = () =>
      sql`select e.*, (select count(*) from agents.events) from agents.enrolments e`;
    const before = await state();
    for (
      const [question, refusal] of [
        [{ caller, limits: { max_agents: 5 } }, /forbidden/],
        [{ enrolment_id: `enr_${"0".repeat(32)}`, limits: { max_agents: 5 } }, /invalid_request/],
        [{ limits: { max_agents: 0 } }, /invalid_request/],
        [{ limits: { max_agents: 100_001 } }, /invalid_request/],
        [{ limits: { quota_bytes: -1 } }, /invalid_request/],
      ] as const
    ) {
      const limiting = callAsService(sql, "set_enrolment_limits", {
        caller: OPERATOR,
        enrolment_id,
        ...question,
      });
      await assert.rejects(limiting, refusal);
    }
    assert.deepEqual(await state(), before);
  });
});

Deno.test("a removal of one agent that is not committed → another agent of the enrolment registers; afterwards, the sum is right", async () => {
  await withProjectDatabase({}, async (sql) => {
    const enrolment = await makeEnrolment(sql, { quota_bytes: 100 });
    const [first, second] = [
      await enrolAs(sql, enrolment, "vm-1"),
      await enrolAs(sql, enrolment, "vm-2"),
    ];
    await registerFor(sql, first, 60);
    await registerFor(sql, second, 10);
    await using removal = await holdTransaction(
      await urlOf(sql),
      (held) => held`select public.agent_api_remove_agent(${first.agent_id})`,
    );
    await registerFor(sql, second, 10);
    // What is not committed is still held.
    await refusalOf(registerFor(sql, second, 60));
    await removal.commit();
    await registerFor(sql, second, 60);
    assert.equal(await heldBy(sql, enrolment), 80);
  });
});

Deno.test("an agent that enrols while the operator registers its first file → the file counts for the enrolment", async () => {
  await withProjectDatabase({}, async (sql) => {
    const enrolment = await makeEnrolment(sql, { agent_id: "planner" });
    await callAsService(sql, "share_agent", { agent_id: "planner", way: "operator" });
    await callAsService(sql, "share_agent", { agent_id: "planner", way: enrolment.enrolment_id });
    await using registration = await holdTransaction(
      await urlOf(sql),
      (held) =>
        held`select public.agent_api_register_artifact(
          ${sql.json(OPERATOR)}, ${`art_${"1".repeat(32)}`}, 'planner', 'k', 'text/plain', 40, 1,
          0, 1000)`,
    );
    const enrolling = enrolAs(sql, enrolment, null);
    await waitsForLock(sql);
    await registration.commit();
    await enrolling;
    assert.equal(await heldBy(sql, enrolment), 40);
  });
});

/** Resolves when a transaction waits for a lock. Throws if none has for 30 seconds. */
async function waitsForLock(sql: postgres.Sql): Promise<void> {
  for (let time = 0; time < 1500; time++) {
    const [{ waiting }] = await sql<[{ waiting: number }]>`
      select count(*)::integer as waiting from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    if (waiting > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("No transaction waits.");
}
