/** An erased agent stays out, although nothing names it any more. */
import assert from "node:assert/strict";
import {
  assertError,
  createAgent,
  endCreatedAgents,
  operatorRpc,
  send,
} from "../../conformance/client.ts";
import { assertUnauthenticated } from "../../conformance/credentials.ts";
import {
  endMadeEnrolments,
  enrol,
  eventsOf,
  newName,
  put,
  tryEnrol,
  use,
} from "../../conformance/enrolment/enrolments.ts";
import { runTask } from "../../../packages/local/tests/stack/stack_process.ts";
import { signIn } from "../../users/signed_in.ts";
import { withStackDatabase } from "../connection.ts";
import { columnsWith } from "./cast.ts";

Deno.test.afterEach(async () => {
  await endMadeEnrolments();
  await endCreatedAgents();
});

async function erase(name: string): Promise<string> {
  const { code, output, errors } = await runTask("agentops agent erase", {
    args: [name, "--confirm", name],
  });
  assert.equal(code, 0, output + errors);
  return output;
}

async function rowsOf(name: string): Promise<number> {
  const [row] = await withStackDatabase((sql) =>
    sql<{ rows: number }[]>`
      select (select count(*) from agents.keys where agent_id = ${name})::integer
        + (select count(*) from agents.enrolled_agents where agent_id = ${name})::integer as rows`
  );
  return row!.rows;
}

for (const isRemovedFirst of [true, false]) {
  const what = isRemovedFirst ? "removed, then erased" : "erased";
  Deno.test(`an agent that is ${what} → its enrolment key is refused as after the removal, and nothing names the agent, until readmit_agent`, async () => {
    const { enrolment_id, enrolment_key } = await put({ uses_left: null });
    const agent_name = newName("erasable");
    await use(await enrol({ enrolment_key, agent_name }));
    if (isRemovedFirst) {
      await operatorRpc("remove_agent", { agent_id: agent_name });
      assertError(await tryEnrol({ enrolment_key, agent_name }), 401, "enrolment_refused");
    }
    const output = await erase(agent_name);
    assert.match(output, /stays out/);
    assert.deepEqual(await columnsWith(agent_name), []);
    assertError(await tryEnrol({ enrolment_key, agent_name }), 401, "enrolment_refused");
    assert.equal(await rowsOf(agent_name), 0);
    assert.deepEqual(await columnsWith(agent_name), []);
    const refused = (await eventsOf("enrolment.refused"))
      .filter((event) => event["enrolment_id"] === enrolment_id);
    assert.equal(refused.at(-1)!["reason"], "agent_removed");

    const readmit = () => operatorRpc("readmit_agent", { agent_id: agent_name });
    assert.deepEqual((await readmit()).body, { agent_id: agent_name, readmitted: true });
    assert.deepEqual((await readmit()).body, { agent_id: agent_name, readmitted: false });
    assert.equal((await enrol({ enrolment_key, agent_name })).generation, 1);
  });
}

Deno.test("a user whose agent is removed, then erased → 401 by old and new tokens, until readmit_agent", async () => {
  const id = newName("ada");
  const before = await signIn({ id });
  const whoami = (key: string) =>
    send("/agent-artifacts/whoami", { headers: { authorization: `Bearer ${key}` } });
  await operatorRpc("remove_agent", { agent_id: id });
  await erase(id);
  for (const { key } of [before, await signIn({ id })]) assertUnauthenticated(await whoami(key));
  assert.deepEqual(await columnsWith(id), []);
  await operatorRpc("readmit_agent", { agent_id: id });
  assert.equal((await whoami(before.key)).status, 200);
});

Deno.test("erased, then made again by the operator → its new key works, and its users stay out", async () => {
  const { id } = await createAgent("planner");
  await erase(id);
  const { body } = await operatorRpc<{ key: string }>("create_agent_key", { agent_id: id });
  const whoami = (key: string) =>
    send("/agent-artifacts/whoami", { headers: { authorization: `Bearer ${key}` } });
  assert.equal((await whoami(body.key)).status, 200);
  assertUnauthenticated(await whoami((await signIn({ id }, { shares: false })).key));
  await operatorRpc("remove_agent", { agent_id: id });
});

Deno.test("the record of erased names → no digest of a name without the secret of another table", async () => {
  const { id } = await createAgent("planner");
  await erase(id);
  await withStackDatabase(async (sql) => {
    const rows = await sql<{ name_hash: string }[]>`
      select encode(name_hash, 'hex') as name_hash from agents.erased_names`;
    const guesses = await sql<{ guess: string }[]>`
      select encode(f.digest, 'hex') as guess
      from unnest(array[${id}, ${id} || E'\n', lower(${id})]) as n (name)
      cross join lateral (values
        (sha256(convert_to(n.name, 'UTF8'))), (sha512(convert_to(n.name, 'UTF8'))),
        (sha256(sha256(convert_to(n.name, 'UTF8')))), (decode(md5(n.name), 'hex'))
      ) f (digest)`;
    const known = new Set(rows.map(({ name_hash }) => name_hash));
    assert.ok(known.size > 0);
    assert.ok(guesses.every(({ guess }) => !known.has(guess)));
    const [own] = await sql<{ is_known: boolean }[]>`
      select encode(agents.hash_of_name(${id}), 'hex') = any (${[...known]}) as is_known`;
    assert.equal(own!.is_known, true);
  });
});

Deno.test("agent erase → no row has the pseudonym together with the keyed hash of the name", async () => {
  const { id } = await createAgent("planner");
  const output = await erase(id);
  const [pseudonym] = /erased-[0-9a-f]{32}/.exec(output)!;
  await withStackDatabase(async (sql) => {
    const [hash] = await sql<{ hex: string }[]>`
      select encode(agents.hash_of_name(${id}), 'hex') as hex`;
    const tables = await sql<{ name: string }[]>`
      select c.oid::regclass::text as name
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = any (agents.own_schemas()) and c.relkind in ('r', 'p')`;
    const found = { pseudonym: 0, hash: 0, both: 0 };
    for (const { name } of tables) {
      const [row] = await sql.unsafe(
        `select count(*) filter (where p)::integer as pseudonym,
          count(*) filter (where h)::integer as hash,
          count(*) filter (where p and h)::integer as both
        from ${name} t
        cross join lateral (select strpos(t::text, $1) > 0 as p, strpos(t::text, $2) > 0 as h) s`,
        [pseudonym!, hash!.hex],
      );
      for (const what of ["pseudonym", "hash", "both"] as const) found[what] += row![what];
    }
    assert.ok(found.pseudonym > 1, "the events of the erased agent");
    assert.equal(found.hash, 2, "what keeps it out, and the event for a record");
    assert.equal(found.both, 0);
  });
});

Deno.test("an agent whose instances are named after it, or after somebody → an erasure leaves no name of an instance", async () => {
  const { enrolment_key } = await put({ uses_left: null, max_instances: 2 });
  const agent_name = newName("erasable");
  const instances = [`${agent_name}-1`, newName("ada")];
  for (const instance of [...instances, ...instances]) {
    await use(await enrol({ enrolment_key, agent_name, instance }));
  }
  for (const instance of instances) {
    assert.ok((await columnsWith(instance)).includes("agents.events.details"));
  }
  await erase(agent_name);
  for (const name of [agent_name, ...instances]) assert.deepEqual(await columnsWith(name), []);
});
