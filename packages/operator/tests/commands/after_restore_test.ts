import assert from "node:assert/strict";
import { withStackDatabase } from "../../../../tests/database/connection.ts";
import { withOwnStack } from "../../../../tests/database/own_stack.ts";
import { runTask } from "../../../local/tests/stack/stack_process.ts";
import { afterRestore, withFolder } from "./restoring.ts";

async function epoch(): Promise<string> {
  return await withStackDatabase(async (sql) => {
    const [row] = await sql<[{ epoch: string }]>`select epoch from agents.epochs`;
    return row.epoch;
  });
}

for (
  const [options, sentence] of [
    [["--record", "/nowhere/record"], /^\/nowhere\/record cannot be read\.$/],
    [["--log", "/nowhere/log", "--since", "1h"], /^\/nowhere\/log cannot be read\.$/],
    [["--log", "/dev/null"], /^--log needs --since: when the backup was made\.$/],
    [["--dry-run"], /^--dry-run needs --record\.$/],
    [["--since", "yesterday"], /^--since takes how long ago/],
  ] as const
) {
  Deno.test(`after_restore ${options.join(" ")} → one sentence, and the epoch goes on`, async () => {
    const before = await epoch();
    const { code, output, errors } = await runTask("agentops restore after", { args: options });
    assert.deepEqual([code, output], [1, ""]);
    assert.match(errors, sentence);
    assert.equal(await epoch(), before);
  });
}

Deno.test("after_restore --record with lines of every earlier form and lines that nobody can use → each of these is named, all others are replayed, exit code 1; once they are gone, 0", async () => {
  await withOwnStack(async (own) => {
    const { sql } = own;
    const keyOf = async (agent_id: string): Promise<string> => {
      const [made] = await sql`select public.agent_api_create_agent_key(${agent_id}) as key`;
      return made!["key"].key_id;
    };
    const enrolmentOf = async (label: string): Promise<string> =>
      (await own.ask<{ enrolment_id: string }>("/enrolment/put", { kind: "key", label }))
        .enrolment_id;
    const [inUse, leaked, bare] = [
      await keyOf("planner"),
      await keyOf("planner"),
      await keyOf("planner"),
    ];
    const [kept, withdrawn, withdrawnBare] = [
      await enrolmentOf("kept"),
      await enrolmentOf("withdrawn"),
      await enrolmentOf("bare"),
    ];
    await sql`select public.agent_api_set_agent_quota('planner', 5000)`;
    const pseudonym = `erased-${"0".repeat(32)}`;
    const at = new Date().toISOString();
    let number = 1_000_000;
    const lost = (type: string, fields: object) =>
      JSON.stringify({ event_id: `evt_${number++}`, type, at, actor_kind: "operator", ...fields });
    const unusable = [
      // An erased agent of a record that does not say which it was.
      lost("key.revoked", { agent_id: pseudonym }),
      lost("agent.erased", { agent_id: pseudonym }),
      // Exports of before did not say the quota.
      lost("agent.limited", { agent_id: "planner" }),
      lost("enrolment.limited", { enrolment_id: kept, quota_bytes: 5 }),
      lost("policy.applied", { agent_id: null }),
      lost("rule.revoked", { from_agent: "a", to_agent: "b", proto: "tcp" }),
      lost("agent.tagged", { agent_id: "planner", added: "tag:x" }),
      "neither an id nor an event",
      "null",
      '{"key_id": "of no type"}',
    ];
    const failing = lost("agent.tagged", { agent_id: "planner", added: ["not a tag"] });
    const right = [
      bare,
      withdrawnBare,
      JSON.stringify({ type: "key.revoked", key_id: leaked }),
      lost("enrolment.revoked", { enrolment_id: withdrawn }),
      lost("grant.revoked", { grant_id: `grant_${"0".repeat(32)}` }),
      lost("key.created", { agent_id: "planner", key_id: inUse }),
      lost("agent.limited", { agent_id: "planner", quota_bytes: null }),
      lost("agent.limited", { agent_id: "planner", quota_bytes: 7000 }),
      lost("enrolment.limited", { enrolment_id: kept, max_agents: 7, quota_bytes: null }),
      lost("enrolment.limited", {
        enrolment_id: `enr_${"0".repeat(32)}`,
        max_agents: 7,
        quota_bytes: 7,
      }),
    ];
    const middle = 4;
    const lines = [
      ...unusable.slice(0, middle),
      ...right,
      failing,
      ...unusable.slice(middle),
    ];
    await withFolder(async (folder) => {
      const record = `${folder}/record.jsonl`;
      await Deno.writeTextFile(record, lines.join("\n"));
      const before = await sql`select max(event_id) from agents.events`;
      const planned = await afterRestore(own, "--record", record, "--dry-run");
      assert.deepEqual(
        [planned.code, planned.of("would_replay").length],
        [0, lines.length],
        planned.errors,
      );
      assert.deepEqual(await sql`select max(event_id) from agents.events`, before);
      const { code, errors, of } = await afterRestore(own, "--record", record);
      assert.equal(code, 1, errors);
      const named = of("replay").filter(({ outcome }) => outcome !== "replayed");
      assert.deepEqual(
        named.map(({ line }) => line).sort((one, other) => one - other),
        lines.flatMap((text, index) =>
          unusable.includes(text) || text === failing ? [index + 1] : []
        ),
      );
      for (const { what } of named) assert.match(what, /\w/);
      const live = await sql`
        select key_id as id from agents.keys where revoked_at is null
        union all select enrolment_id from agents.enrolments where revoked_at is null`;
      assert.deepEqual(live.map(({ id }) => id).sort(), [inUse, kept].sort());
      const quotas = await sql`select quota_bytes::int from artifacts.agent_limits`;
      assert.deepEqual([...quotas], [{ quota_bytes: 7000 }]);
      const limits = await sql`
        select max_agents, quota_bytes from agents.enrolments where enrolment_id = ${kept}`;
      assert.deepEqual([...limits], [{ max_agents: 7, quota_bytes: null }]);

      // What the operator decides after the restore counts more than the record.
      await sql`select public.agent_api_set_agent_quota('planner', 9000)`;
      await Deno.writeTextFile(record, right.join("\n"));
      const again = await afterRestore(own, "--record", record);
      assert.equal(again.code, 0, again.errors);
      assert.deepEqual(again.of("replay"), []);
      const [kept9000] = await sql`select quota_bytes::int from artifacts.agent_limits`;
      assert.equal(kept9000!["quota_bytes"], 9000);
    });
  });
});

Deno.test("after_restore --record of take-overs → the operator has each name again, although the backup has its former holder, or is older than that one", async () => {
  await withOwnStack(async (own) => {
    const { sql } = own;
    const { enrolment_id } = await own.ask<{ enrolment_id: string }>("/enrolment/put", {
      kind: "key",
      agent_prefix: "fin",
    });
    await sql`select agents.claim_name('finance', ${enrolment_id})`;
    const names = ["finance", "fin-free"];
    const at = new Date().toISOString();
    const lines = names.map((agent_id, index) =>
      JSON.stringify({
        event_id: `evt_${1_000_000 + index}`,
        type: "agent.taken_over",
        at,
        agent_id,
        actor_kind: "operator",
        ways: [enrolment_id],
      })
    );
    await withFolder(async (folder) => {
      const record = `${folder}/record.jsonl`;
      await Deno.writeTextFile(record, lines.join("\n"));
      const { code, errors } = await afterRestore(own, "--record", record);
      assert.equal(code, 0, errors);
    });
    const rows = await sql`select agent_id, ways from agents.names order by agent_id desc`;
    assert.deepEqual(
      [...rows],
      names.map((agent_id) => ({ agent_id, ways: ["operator"] })),
    );
  });
});

Deno.test("after_restore --record of erasures → each name is erased again, lines with the pseudonyms end nothing; an erasure during which the backup was made is named, exit code 1", async () => {
  await withOwnStack(async (own) => {
    const { sql, stack } = own;
    for (const name of ["whole", "half"]) {
      for (let key = 0; key < 3; key++) {
        await sql`select public.agent_api_create_agent_key(${name})`;
      }
    }
    const [hashed] = await sql`select encode(agents.hash_of_name('whole'), 'hex') as hex`;
    // The first steps of an erasure, which the backup has.
    const [step] = await sql`select public.agent_api_erase_agent('half', null, 1) as erased`;
    const { pseudonym: half, remaining } = step!["erased"];
    assert.equal(remaining, true);
    const exported = await runTask("agentops events", {
      args: ["--endings", "--all", "--json"],
      environment: { SUPABASE_URL: stack.url, SUPABASE_SECRET_KEY: stack.secretKey },
    });
    const whole = `erased-${"0".repeat(32)}`;
    const at = new Date().toISOString();
    let number = 1_000_000;
    const lost = (type: string, fields: object) =>
      JSON.stringify({ event_id: `evt_${number++}`, type, at, actor_kind: "operator", ...fields });
    const erased = [
      lost("name.erased", { agent_id: null, name_hash: hashed!["hex"] }),
      lost("agent.erased", { agent_id: whole }),
      lost("agent.erased", { agent_id: whole }),
      lost("key.revoked", { agent_id: whole }),
      lost("sender.blocked", { agent_id: "reader", other_agent_id: whole }),
    ];
    const later = lost("agent.erased", { agent_id: half });
    await withFolder(async (folder) => {
      const record = `${folder}/record.jsonl`;
      const blocked = () => sql`select from artifacts.blocked_senders`;
      // Without its name.erased, nobody knows whom the first line means.
      await Deno.writeTextFile(record, erased.slice(1).join("\n"));
      const unnamed = await afterRestore(own, "--record", record);
      assert.equal(unnamed.code, 1, unnamed.errors);
      assert.deepEqual(unnamed.of("replay").map(({ outcome }) => outcome), [
        "unusable",
        "unusable",
        "unusable",
        "unusable",
      ]);
      assert.equal((await blocked()).length, 0);

      await Deno.writeTextFile(record, [exported.output, ...erased, later].join("\n"));
      const { code, errors, of } = await afterRestore(own, "--record", record);
      assert.equal(code, 1, errors);
      assert.deepEqual(of("replay").map(({ type, outcome }) => [type, outcome]), [
        ["name.erased", "replayed"],
        ["agent.erased", "unusable"],
      ]);
      assert.match(of("replay")[1].what, /^the backup was made during this erasure/);
      const left = await sql`select from agents.keys where agent_id = 'whole'`;
      assert.deepEqual([left.length, (await blocked()).length], [0, 0]);
    });
  });
});

Deno.test("after_restore --record of events that the database has → replays none of them", async () => {
  await withOwnStack(async (own) => {
    const { sql, stack } = own;
    await sql`select public.agent_api_create_agent_key('planner')`;
    await sql`select public.agent_api_remove_agent('planner')`;
    await sql`select public.agent_api_readmit_agent('planner')`;
    await sql`select public.agent_api_create_agent_key('planner')`;
    await withFolder(async (folder) => {
      const exported = await runTask("agentops events", {
        args: ["--endings", "--all", "--json"],
        environment: { SUPABASE_URL: stack.url, SUPABASE_SECRET_KEY: stack.secretKey },
      });
      const record = `${folder}/record.jsonl`;
      await Deno.writeTextFile(record, exported.output);
      const { code, of } = await afterRestore(own, "--record", record);
      assert.equal(code, 0);
      const [counts] = of("record");
      assert.deepEqual([counts.lines > 2, counts.lost, of("replay")], [true, 0, []]);
      assert.equal((await sql`select from agents.keys where revoked_at is null`).length, 1);
    });
  });
});

Deno.test("after_restore --log → lists the same requests each time", async () => {
  await withOwnStack(async (own) => {
    await withFolder(async (folder) => {
      const log = `${folder}/functions.log`;
      const request = { time: new Date().toISOString(), path: "/enroll", status: 200 };
      await Deno.writeTextFile(log, JSON.stringify(request));
      // Each run begins a new epoch, which does not change what is listed.
      for (let run = 0; run < 2; run++) {
        const { of } = await afterRestore(own, "--since", "1h", "--log", log);
        assert.deepEqual(of("lost_request").map(({ path }) => path), ["/enroll"]);
      }
    });
  });
});
