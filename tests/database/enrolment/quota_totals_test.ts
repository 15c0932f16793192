/** What the agents of an enrolment hold together stays exact, however their files and they end. */
import assert from "node:assert/strict";
import type postgres from "postgres";
import { callAsService, withProjectDatabase } from "../connection.ts";
import {
  enrolAs,
  type EnrolledAgent,
  heldBy,
  type MadeEnrolment,
  makeEnrolment,
  OPERATOR,
  registerFor,
} from "./quota_database.ts";

interface Held {
  readonly sql: postgres.Sql;
  readonly enrolment: MadeEnrolment;
  readonly agent: EnrolledAgent;
  /** 30 bytes of the agent. */
  readonly artifact_id: string;
}

/** Two agents of an enrolment with 30 and 5 bytes. */
async function withHeld(
  fields: object,
  run: (held: Held) => Promise<void>,
): Promise<void> {
  await withProjectDatabase({}, async (sql) => {
    const enrolment = await makeEnrolment(sql, { agent_prefix: "vm-", ...fields });
    const agent = await enrolAs(sql, enrolment, "vm-1");
    const artifact_id = await registerFor(sql, agent, 30);
    await registerFor(sql, await enrolAs(sql, enrolment, "vm-2"), 5);
    assert.equal(await heldBy(sql, enrolment), 35);
    await run({ sql, enrolment, agent, artifact_id });
  });
}

/** Every way by which bytes end, and those by which they stay. */
const CHANGES: Readonly<
  Record<string, { readonly left: number; change(held: Held): Promise<unknown> }>
> = {
  "its owner deletes the file": {
    left: 5,
    change: ({ sql, agent: { caller }, artifact_id }) =>
      callAsService(sql, "delete_artifact", { caller, artifact_id }),
  },
  "the registration is discarded": {
    left: 5,
    change: ({ sql, agent: { caller }, artifact_id }) =>
      callAsService(sql, "discard_registration", { caller, artifact_id }),
  },
  "the sweep ends expired files of both agents": {
    left: 0,
    async change({ sql }) {
      await sql`
        update artifacts.artifacts
        set state = 'committed', sha256 = repeat('0', 64), committed_at = now(),
          sealed_attempt = 1, commit_attempts = 1, expires_at = now() - interval '1 hour'`;
      const question = { caller: OPERATOR, max_entries: 10, window_seconds: 60 };
      await callAsService(sql, "end_artifacts", question);
    },
  },
  "surplus bytes are found": {
    left: 42,
    change: ({ sql, artifact_id }) =>
      sql`update artifacts.artifacts set surplus_bytes = 7, surplus_seen_at = now()
        where artifact_id = ${artifact_id}`,
  },
  "the agent leaves, and its file stays": {
    left: 35,
    change: ({ sql, agent: { caller } }) => callAsService(sql, "leave", { caller }),
  },
  "the agent leaves and enrols again": {
    left: 35,
    async change({ sql, enrolment, agent: { caller } }) {
      await callAsService(sql, "leave", { caller });
      await enrolAs(sql, enrolment, "vm-1");
    },
  },
  "the enrolment is revoked, and the file stays": {
    left: 35,
    change: ({ sql, enrolment: { enrolment_id } }) =>
      callAsService(sql, "revoke_enrolment", { caller: OPERATOR, enrolment_id }),
  },
  "the agent is removed": {
    left: 5,
    change: ({ sql, agent: { agent_id } }) => callAsService(sql, "remove_agent", { agent_id }),
  },
  "the agent is erased": {
    left: 5,
    async change({ sql, agent: { agent_id } }) {
      await sql`update artifacts.artifacts set surplus_bytes = 7, surplus_seen_at = now()`;
      await callAsService(sql, "erase_agent", { agent_id });
      await sql`update artifacts.artifacts set surplus_bytes = null, surplus_seen_at = null`;
    },
  },
  "the operator takes the agent over, and registers for it": {
    left: 5,
    async change({ sql, agent: { agent_id } }) {
      await callAsService(sql, "take_over_agent", { agent_id });
      await registerFor(sql, { agent_id }, 1000);
    },
  },
  "the operator shares the agent, and registers for it": {
    left: 40,
    async change({ sql, agent: { agent_id } }) {
      await callAsService(sql, "share_agent", { agent_id, way: "operator" });
      await registerFor(sql, { agent_id }, 5);
    },
  },
};

for (const [what, { left, change }] of Object.entries(CHANGES)) {
  Deno.test(`${what} → the enrolment's agents hold ${left} of 35 bytes`, async () => {
    await withHeld({}, async (held) => {
      await change(held);
      assert.equal(await heldBy(held.sql, held.enrolment), left);
    });
  });
}

Deno.test("an agent that another enrolment takes in → its bytes count for that one, and no more for the first", async () => {
  await withHeld({}, async ({ sql, enrolment, agent: { agent_id } }) => {
    const next = await makeEnrolment(sql, { agent_id, quota_bytes: 20 });
    const way = next.enrolment_id;
    await callAsService(sql, "share_agent", { agent_id, way });
    assert.deepEqual([await heldBy(sql, enrolment), await heldBy(sql, next)], [35, 0]);
    // More than the new one may have: the operator has named the agent, and nothing ends.
    const moved = await enrolAs(sql, next, null);
    assert.deepEqual([await heldBy(sql, enrolment), await heldBy(sql, next)], [5, 30]);
    await assert.rejects(registerFor(sql, moved, 1), /quota_exceeded/);
  });
});

Deno.test("an agent that the operator named before, with files → they count from its enrolment on", async () => {
  await withProjectDatabase({}, async (sql) => {
    await registerFor(sql, { agent_id: "planner" }, 30);
    const enrolment = await makeEnrolment(sql, { agent_id: "planner" });
    await enrolAs(sql, enrolment, null);
    assert.equal(await heldBy(sql, enrolment), 30);
  });
});

Deno.test("an erased agent whose enrolment was for it alone → no total of the enrolment is left", async () => {
  await withProjectDatabase({}, async (sql) => {
    const enrolment = await makeEnrolment(sql, { agent_id: "planner" });
    await registerFor(sql, await enrolAs(sql, enrolment, null), 30);
    await callAsService(sql, "erase_agent", { agent_id: "planner" });
    assert.deepEqual([...await sql`select from artifacts.enrolment_totals`], []);
    assert.deepEqual(await callAsService(sql, "check_project_totals", {}), {});
  });
});

Deno.test("a wrong total of an enrolment → check_project_totals says which; repair_project_totals corrects it", async () => {
  await withHeld({}, async ({ sql, enrolment }) => {
    await sql`update artifacts.enrolment_totals set bytes = bytes - 3`;
    const found = await callAsService(sql, "check_project_totals", {});
    assert.deepEqual(found, { [`bytes of ${enrolment.enrolment_id}`]: 3 });
    await callAsService(sql, "repair_project_totals", {});
    assert.equal(await heldBy(sql, enrolment), 35);
  });
});
