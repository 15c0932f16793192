import assert from "node:assert/strict";
import { artifactTest, grant, publish } from "../../conformance/artifacts.ts";
import { type Answer, operatorRpc, post, succeed } from "../../conformance/client.ts";
import { runTask } from "../../../packages/local/tests/stack/stack_process.ts";
import { withStackDatabase } from "../connection.ts";
import { bringToLife, castTest, columnsWith, putTrust } from "./cast.ts";

interface Receipt {
  readonly pseudonym: string;
  readonly complete: boolean;
  readonly left: Record<string, number>;
  readonly erased: Record<string, number>;
  readonly events: { readonly altered: number; readonly in_order: boolean };
}

interface Step {
  readonly pseudonym: string;
  readonly remaining: boolean;
}

async function erase(id: string, ...args: string[]) {
  return await runTask("agentops agent erase", { args: [id, ...args] });
}

castTest(
  "agent erase of an agent that is named everywhere → no column of any table holds its name; the log keeps its order, and says what was altered",
  async (agent, builder) => {
    await bringToLife(agent, builder);
    const named = await columnsWith(agent.id);
    for (
      const column of [
        "agents.keys.agent_id",
        "agents.keys.label",
        "agents.events.details",
        "agents.events.subject_agent_id",
        "agents.events.other_agent_id",
        "agents.reads.reader",
        "agents.events.request_id",
        "artifacts.artifacts.key",
        "artifacts.grants.to_agent",
        "artifacts.totals.agent_id",
        "artifacts.blocked_senders.from_agent",
        "mesh.rules.from_agent",
        "mesh.address_leases.agent_id",
        "mesh.declined_requests.from_agent",
        "agents.usage.agent_id",
        "agents.repeated_changes.actor",
        "mesh.config_versions.agent_id",
        "agents.refusals.agent_id",
        ...["issuer", "audience", "agent_template", "conditions", "jwks", "label", "agent_id"]
          .map((column) => `agents.enrolments.${column}`),
      ]
    ) {
      assert.ok(named.includes(column), `${column} of ${named.join(", ")}`);
    }
    const logOf = () =>
      withStackDatabase((sql) =>
        sql`select event_id, transaction_id::text, occurred_at, actor_kind, action from agents.events
          order by event_id`
      );
    const before = await logOf();

    const dry = await erase(agent.id, "--dry-run");
    assert.deepEqual([dry.code, dry.errors], [0, ""]);
    assert.match(
      dry.output,
      /^Would erase: .*4 files.*3 grants.*1 agent keys\. Nothing was changed\.$/,
    );
    for (const wrong of [[], ["--confirm", "someone-else"]]) {
      const refused = await erase(agent.id, ...wrong);
      assert.deepEqual([refused.code, refused.output], [2, ""]);
      assert.match(
        refused.errors,
        /Nothing was changed: pass --confirm Erasable\S* to do it at http:\/\/127\.0\.0\.1:\d+\./,
      );
    }
    assert.deepEqual(await logOf(), before);
    assert.deepEqual(await columnsWith(agent.id), named);

    const { code, output, errors } = await erase(agent.id, "--confirm", agent.id, "--json");
    assert.equal(code, 0, output + errors);
    const receipt = JSON.parse(output) as Receipt;
    assert.equal(receipt.complete, true);
    assert.match(receipt.pseudonym, /^erased-[0-9a-f]{32}$/);
    assert.ok(receipt.events.altered > 20 && receipt.events.in_order, output);
    for (const name of [agent.id, agent.id.toLowerCase()]) {
      assert.deepEqual(await columnsWith(name), []);
    }
    assert.deepEqual(await columnsWith(agent.keyId), [], "nor its agent key");
    const after = await logOf();
    const kept = after.filter(({ event_id }) =>
      before.some((event) => event["event_id"] === event_id)
    );
    assert.deepEqual(kept, Array.from(before), "each event in its place, of its type and time");
    assert.equal((await post("/agent-artifacts/list", { as: agent })).status, 401);

    const fsck = await runTask("agentops fsck");
    assert.equal(fsck.output.includes(receipt.pseudonym) || fsck.output.includes(agent.id), false);
    const doctor = await runTask("agentops doctor", { args: ["--json"] });
    assert.equal(doctor.output.includes(receipt.pseudonym), false, doctor.output);
    const checked = await runTask("agentops mesh check", { args: ["--json"] });
    assert.equal(checked.output.includes(receipt.pseudonym), false, checked.output);
    const again = await erase(agent.id, "--confirm", agent.id);
    assert.equal(again.code, 1);
    assert.match(again.errors, /^Nothing names an agent /);
    const [row] = await withStackDatabase((sql) =>
      sql`select count(*)::integer as count from artifacts.artifacts
        where agent_id = ${receipt.pseudonym} and state = 'deleted'`
    );
    assert.equal(row!["count"], 4, "the sweep still knows whose bytes go");
  },
);

castTest(
  "agent erase of an agent that a live enrolment names in what decides who enrols → that is not altered, the receipt names it, exit code 1; once it is revoked → erased from there, too",
  async (agent) => {
    const enrolment_id = await putTrust(agent.id);
    const decided = async () => {
      const [row] = await withStackDatabase((sql) =>
        sql`select issuer, audience, agent_template, conditions, jwks from agents.enrolments
          where enrolment_id = ${enrolment_id}`
      );
      return row;
    };
    const before = await decided();
    const sentence =
      `The name is in the conditions for who enrols by ${enrolment_id}, which are not altered.`;
    const dry = await erase(agent.id, "--dry-run");
    assert.ok(dry.output.includes(sentence), dry.output);

    const first = await erase(agent.id, "--confirm", agent.id);
    assert.equal(first.code, 1);
    assert.ok(first.output.includes(`NOT COMPLETE: ${sentence}`), first.output);
    assert.ok(!first.output.includes("Nothing names the agent"), first.output);
    assert.deepEqual(await decided(), before);
    const columns = await columnsWith(agent.id);
    assert.ok(columns.every((column) => column.startsWith("agents.enrolments.")), columns.join());
    assert.ok(!columns.includes("agents.enrolments.label"), "people alone read it");
    const again = await erase(agent.id, "--confirm", agent.id);
    assert.deepEqual([again.code, again.output], [1, ""]);
    assert.ok(again.errors.startsWith(sentence), again.errors);

    await succeed("/agent-artifacts/enrolment/revoke", { as: "operator", body: { enrolment_id } });
    const done = await erase(agent.id, "--confirm", agent.id);
    assert.equal(done.code, 0, done.output + done.errors);
    for (const name of [agent.id, agent.id.toLowerCase()]) {
      assert.deepEqual(await columnsWith(name), []);
    }
  },
);

castTest(
  "erase_agent in steps of two → the same, and the digest of each step holds",
  async (agent, builder) => {
    await bringToLife(agent, builder);
    await withStackDatabase((sql) =>
      sql`insert into agents.reads (object_id, reader, actor_kind, action, subject_agent_id, details,
          told_at, told_reads, untold_reads, last_read_at)
        select 'art_' || n, ${agent.id}, 'agent', 'artifact.opened', ${builder.id}, '{}', now(), 1, 1, now()
        from generate_series(1, 20) n`
    );
    const pseudonym = await withStackDatabase(async (sql) => {
      const countReads = async () => {
        const [row] =
          await sql`select count(*)::integer from agents.reads where reader = ${agent.id}`;
        return row!["count"] as number;
      };
      let pseudonym: string | null = null;
      for (let remaining = true, steps = 0; remaining; steps++) {
        assert.ok(steps < 400);
        const reads = await countReads();
        const step: Answer<Step> = await operatorRpc<Step>(
          "erase_agent",
          { agent_id: agent.id, pseudonym, max_entries: 2 },
        );
        assert.equal(step.status, 200, JSON.stringify(step.body));
        assert.ok(reads - await countReads() <= 2, "a step is small, whatever was read");
        ({ pseudonym, remaining } = step.body);
      }
      return pseudonym;
    });
    assert.deepEqual(await columnsWith(agent.id), []);
    const check = () =>
      operatorRpc<{ steps: number; holds: boolean }>("check_erasure", { pseudonym });
    const { body } = await check();
    assert.ok(body.steps > 10 && body.holds, JSON.stringify(body));
  },
);

castTest(
  "erase_agent while the agent and others act → what they wrote is gone, too, or the receipt says to run it again",
  async (agent, builder) => {
    const theirs = await publish(builder);
    let erased = false;
    const acting = Array.from({ length: 2 }, async (_, number) => {
      for (let times = 0; !erased && times < 200; times++) {
        await publish(agent, { key: `race/${number}/${times}` }).catch(() => {});
        await post("/agent-mesh/acl/put", {
          as: agent,
          body: { from_agent: agent.id, to_agent: builder.id, port: 1000 + times, proto: "tcp" },
        });
        if (times < 5) await grant(builder, theirs, { to: agent });
      }
    });
    const { output } = await erase(agent.id, "--confirm", agent.id, "--json");
    erased = true;
    await Promise.all(acting);
    const receipt = JSON.parse(output) as Receipt;
    // Only later writes of others may name the agent again, and only in these columns.
    const byOthers = [
      "agents.events.subject_agent_id",
      "artifacts.grants.grantee",
      "artifacts.grants.to_agent",
    ];
    const left = (await columnsWith(agent.id)).filter((column) => !byOthers.includes(column));
    if (receipt.complete) assert.deepEqual(left, []);
    else assert.ok(Object.values(receipt.left).some((count) => count > 0), output);
    if ((await columnsWith(agent.id)).length > 0) {
      const again = await erase(agent.id, "--confirm", agent.id, "--json");
      assert.equal(again.code, 0, again.output);
    }
    assert.deepEqual(await columnsWith(agent.id), []);
  },
);

artifactTest(
  "updates of the log that are no erasure, by service_role and the superuser → refused, and nothing changed",
  async ({ planner, builder }) => {
    await publish(planner);
    await withStackDatabase(async (sql) => {
      const rows = () => sql`select e::text as event from agents.events e order by event_id`;
      const before = await rows();
      const pseudonym = `erased-${"0".repeat(32)}`;
      const said =
        `select agents.record_event('{"kind": "operator"}', null, 'agent.erased', '${pseudonym}', null,
        (select jsonb_build_object('altered', count(*), 'digest', agents.digest_of_events(array_agg(e)))
         from agents.events e where e.subject_agent_id = '${planner.id}'));`;
      const rename = `update agents.events set subject_agent_id = '${pseudonym}',
        actor_agent_id = case when actor_agent_id = subject_agent_id then '${pseudonym}' else actor_agent_id end,
        actor_key_id = null, request_id = null`;
      const where = `where subject_agent_id = '${planner.id}'`;
      const attempts = [
        `${rename}, details = agents.without_name(events, '${planner.id}', '${pseudonym}') ${where}`,
        `${said} ${rename} ${where}`,
        `${said} ${rename}, details = '{}', action = 'x' ${where}`,
        `${said} ${rename}, details = '{}', occurred_at = now() ${where}`,
        `${said} ${rename}, details = '{"sha256": "x"}' ${where}`,
        `${said} update agents.events set subject_agent_id = '${builder.id}' ${where}`,
        `${said} update agents.events set details = '{}' ${where}`,
        `${said} update agents.events set details = details where false`,
      ];
      for (const attempt of attempts) {
        for (const role of ["service_role", "postgres"]) {
          await assert.rejects(
            sql.begin(async (transaction) => {
              await transaction.unsafe(`set local role ${role}`);
              await transaction.unsafe(attempt);
            }),
            /append-only/,
            attempt,
          );
        }
      }
      assert.deepEqual(await rows(), before);
    });
  },
);
